// RFC 4648's base64, as kubeconfigs have it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace partita::kube {

// Line ends are skipped, anything else outside of the alphabet and wrong padding is nothing.
[[nodiscard]] std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace partita::kube
