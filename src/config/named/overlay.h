// A file that is laid over the agent's own, chosen by a label of the node: what some nodes have
// otherwise than the others.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/agent_config.h"

namespace partita::config {

inline constexpr std::string_view kOverlayLabel = "partita.dev/config";

struct Overlay {
  std::string name;
  std::string text;
  std::string file_name;
  bool operator==(const Overlay&) const = default;
};

// Beside the agent's file: /etc/partita/overlays.
[[nodiscard]] std::string OverlayFolder(const std::string& config_file);
// NAME.yaml of that folder. Errors say that the label chose it.
[[nodiscard]] base::Result<Overlay> ReadOverlay(const std::string& config_file,
                                                const std::string& name);

// As ParseAgentConfig. What the overlay says counts before the file, key by key; lists and the
// device plugin's document are replaced whole.
[[nodiscard]] base::Result<AgentConfig> ParseAgentConfigOver(std::string text,
                                                             std::string file_name,
                                                             const std::optional<Overlay>& overlay,
                                                             std::span<const Override> overrides);

}  // namespace partita::config
