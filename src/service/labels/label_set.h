// Labels on their way into a rendering, each with its source.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "service/labels/label_value.h"
#include "service/labels/labels.h"

namespace partita::service::labels {

// A later label of the same key replaces an earlier one. Values are made such as Kubernetes takes;
// a key that is none is left out.
class LabelSet {
 public:
  explicit LabelSet(Rendering& rendering) : rendering_(rendering) {}

  void Set(const std::string& key, std::string_view value, std::string_view source) {
    if (!IsLabelKey(key)) {
      Warn(fmt::format("{} is no key of a label, and left out", key));
      return;
    }
    rendering_.labels[key] = Fitting(Sanitised(value));
    rendering_.sources[key] = source;
  }
  template <std::integral Number>
  void Set(const std::string& key, Number value, std::string_view source) {
    Set(key, std::string_view(fmt::format("{}", value)), source);
  }
  void SetNvidia(std::string_view name, std::string_view value, std::string_view source) {
    Set(std::string(kNvidia).append(name), value, source);
  }
  template <std::integral Number>
  void SetNvidia(std::string_view name, Number value, std::string_view source) {
    Set(std::string(kNvidia).append(name), value, source);
  }
  void Annotate(const std::string& key, std::string_view value) {
    rendering_.annotations[key] = value;
  }
  void Warn(std::string text) { rendering_.warnings.push_back(std::move(text)); }

 private:
  Rendering& rendering_;
};

}  // namespace partita::service::labels
