#include "cdi/text.h"

#include <concepts>
#include <string_view>
#include <utility>

#include "cdi/members.h"

namespace partita::cdi {
namespace {

using base::Value;

class Writer {
 public:
  template <typename T>
  static Value Write(const T& object) {
    Writer writer;
    Describe(writer, object);
    return std::move(writer.map_);
  }

  Writer& Must(const char* key, const std::string& text) { return Set(key, text); }
  template <typename T>
  Writer& Always(const char* key, const T& part, std::string_view /*name*/) {
    return Set(key, Write(part));
  }
  template <typename T>
  Writer& May(const char* key, const T& member, std::string_view /*name*/ = "") {
    return member == T() ? *this : Set(key, Write(member));
  }

 private:
  static Value Write(const std::string& text) { return text; }
  template <std::integral T>
  static Value Write(const T& number) {
    return number;
  }
  template <typename T>
  static Value Write(const std::optional<T>& member) {
    return Write(*member);
  }
  template <typename T>
  static Value Write(const std::vector<T>& items) {
    Value list = Value::List();
    for (const T& item : items) list.Add(Write(item));
    return list;
  }
  static Value Write(const Annotations& annotations) {
    Value map = Value::Map();
    for (const auto& [name, value] : annotations) map.Set(name, value);
    return map;
  }

  Writer& Set(const char* key, Value value) {
    map_.Set(key, std::move(value));
    return *this;
  }

  Value map_ = Value::Map();
};

}  // namespace

Value ToValue(const Spec& spec) { return Writer::Write(spec); }

std::string ToYaml(const Spec& spec) { return "---\n" + base::ToGoYaml(ToValue(spec)); }

std::string ToJson(const Spec& spec) { return base::ToJsonLine(ToValue(spec)); }

}  // namespace partita::cdi
