// Names of CDI devices: "nvidia.com/gpu=0:1".
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace partita::cdi {

struct QualifiedName {
  std::string vendor;
  std::string klass;
  std::string name;

  [[nodiscard]] std::string ToString() const;
  auto operator<=>(const QualifiedName&) const = default;
};

// Split at the first '=', what is before it at the first '/'. A text that begins with '/' is a
// path, never a name.
[[nodiscard]] base::Result<QualifiedName> ParseName(std::string_view text);

// "nvidia.com/gpu" in two; both are empty where there is no '/' or nothing on one side of it.
[[nodiscard]] std::pair<std::string_view, std::string_view> SplitKind(std::string_view kind);

// A letter first, a letter or digit last, between them also '_', '-' and '.'.
[[nodiscard]] bool IsVendor(std::string_view text);
[[nodiscard]] bool IsClass(std::string_view text);
// A letter or digit first and last, between them also '_', '-', '.' and ':'.
[[nodiscard]] bool IsDeviceName(std::string_view text);

// What a device with this UUID is called. A MIG device of an old driver has '/' in its UUID
// (MIG-GPU-<uuid>/<gi>/<ci>), which no name may hold: '_' stands for it.
[[nodiscard]] std::string DeviceNameFor(std::string_view uuid);

}  // namespace partita::cdi
