// A JSON document that is edited in place: what an edit does not name keeps its bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace partita::config {

// Of a value, in bytes of the text.
struct JsonSpan {
  std::size_t begin = 0, end = 0;
  bool operator==(const JsonSpan&) const = default;
};

// One parsed document and its bytes. A path names members of maps from the root on, and items of
// lists by their number; an empty one is the root.
class JsonText {
 public:
  // base::ParseJson's rules and bounds.
  [[nodiscard]] static base::Result<JsonText> Parse(std::string text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const base::Value& value() const { return value_; }

  [[nodiscard]] std::optional<JsonSpan> Find(std::span<const std::string_view> path) const;
  // Of a list; empty where there is none.
  [[nodiscard]] std::vector<JsonSpan> Items(std::span<const std::string_view> path) const;

  // Only the value's bytes change. A new member goes last, as its neighbours are laid out: on lines
  // of their own or all on one. Where there are none to look at, `indent` spaces a level, 0 for one
  // line. Missing parents are made. kConflict where a parent is no map.
  [[nodiscard]] base::Result<void> Set(std::span<const std::string_view> path,
                                       const base::Value& value,
                                       int indent);
  // The same with a text that is a JSON value already; it is put as it is.
  [[nodiscard]] base::Result<void> SetRaw(std::span<const std::string_view> path,
                                          std::string_view json);
  // Absent is success; parents that become empty stay.
  [[nodiscard]] base::Result<void> Remove(std::span<const std::string_view> path);

 private:
  JsonText(std::string text, base::Value value)
      : text_(std::move(text)), value_(std::move(value)) {}

  [[nodiscard]] base::Result<void> Replace(std::string text);

  std::string text_;
  base::Value value_;
};

}  // namespace partita::config
