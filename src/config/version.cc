#include "config/version.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"

namespace partita::config {

void RequireVersion(const Node& root, std::string_view version, Problems& problems) {
  const Node* node = Require(root, "version", problems);
  if (node == nullptr) return;
  const std::optional<std::string> text = ReadString(*node, problems);
  if (text && *text != version)
    problems.Add(*node, fmt::format("unknown version {}", base::Quoted(*text)),
                 fmt::format("only {} exists", version));
}

}  // namespace partita::config
