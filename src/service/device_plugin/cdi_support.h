// Whether what kubelet is given by CDI reaches the container: by who is on the node, as far as that
// is known.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace partita::service::device_plugin {

// The container engine that kubelet uses, as it calls itself.
struct SeenEngine {
  std::string name;         // "containerd", "cri-o"
  std::string version;      // "1.7.24", "v2.1.3", "1.6.20~ds1"
  std::optional<bool> cdi;  // whether it says that CDI is on; most versions have no such switch
  bool operator==(const SeenEngine&) const = default;
};

// Empty: it does, or nothing is known against it. Else why not and what to do, behind the reason
// "CdiDisabled". Absent or of a version that cannot be read, nobody is held against the node.
// `kubelet`: "v1.31.2".
[[nodiscard]] std::string CdiDisabled(const std::optional<SeenEngine>& engine,
                                      const std::optional<std::string>& kubelet);

// What an engine is asked, in the API that kubelet has for engines (CRI, runtime.v1).
inline constexpr std::string_view kEngineVersion = "/runtime.v1.RuntimeService/Version";
inline constexpr std::string_view kEngineStatus = "/runtime.v1.RuntimeService/Status";
[[nodiscard]] std::string EngineStatusMessage();
// Name and version.
[[nodiscard]] base::Result<SeenEngine> ReadEngineVersion(std::string_view message);
// Whether CDI is on, where the engine shows its configuration.
[[nodiscard]] base::Result<std::optional<bool>> ReadEngineCdi(std::string_view message);

}  // namespace partita::service::device_plugin
