// What a static program knows of the node: the agent's document, or what partita prints when it is
// asked.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"

namespace partita::hook {

struct NodeSource {
  std::string host_root = "/";
  std::string run_directory = "/run/partita";
  std::string partita;      // the program; empty: the one beside this executable
  std::string driver_root;  // that is configured; empty: whatever the agent or partita has
};

// /run/partita/devices.json, if it can be believed: a regular file of root's that nobody else may
// write, of the driver that is loaded now, kept by an agent that lives, with nodes as they are.
// Else why not.
[[nodiscard]] base::Result<cdi::NodeDevices> ReadPublished(const NodeSource& source);

// What partita prints last with these arguments, executed without an environment.
[[nodiscard]] base::Result<std::string> CallPartita(const NodeSource& source,
                                                    std::vector<std::string> arguments);

// By `partita cdi jit`.
[[nodiscard]] base::Result<cdi::NodeDevices> AskPartita(const NodeSource& source);

// The first, where it has what is asked for; else the second; else an error that tells of both.
[[nodiscard]] base::Result<cdi::NodeDevices> ReadNode(
    const NodeSource& source, const std::function<bool(const cdi::NodeDevices&)>& has_all);

// Is this driver the one whose /proc/driver/nvidia/version has this text?
[[nodiscard]] bool IsOfDriver(std::string_view version_text, std::string_view driver_version);

}  // namespace partita::hook
