// What a Node says of its labels and who wrote them, as the API server tells it. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "service/labels/labels.h"

namespace partita::service::labels {

// Keys that a field manager applied and that are still its own.
struct OwnedKeys {
  std::set<std::string> labels, annotations;
  bool operator==(const OwnedKeys&) const = default;
};
[[nodiscard]] OwnedKeys OwnedBy(const base::Value& object, std::string_view manager);

// This manager has written the list of taints, which is one field to the API server.
[[nodiscard]] bool HasWrittenTaints(const base::Value& node, std::string_view manager);

// An apply by kFieldManager would change something: a value, or whose a key is. A key that another
// manager has with the same value becomes both's.
[[nodiscard]] bool ApplyChanges(const base::Value& node,
                                const Labels& labels,
                                const Labels& annotations);

// Who else says something else under one of these keys: `"nfd-master" (nvidia.com/gpu.count)`. A
// key that is nobody's, or that nobody has any more, is "somebody"'s.
[[nodiscard]] std::vector<std::string> Contenders(const base::Value& node, const Labels& labels);

// The value of a label; absent: it has none.
[[nodiscard]] const std::string* FindLabel(const base::Value& node, std::string_view key);

}  // namespace partita::service::labels
