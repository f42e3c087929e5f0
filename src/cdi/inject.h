// CDI devices put into the config.json of a container.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/root_dir.h"
#include "cdi/registry.h"
#include "oci/spec.h"

namespace partita::cdi {

// What is at a path of the host, itself and not where a link leads (lstat).
using LookAtHost = std::function<base::Result<base::FileFacts>(const std::string& path)>;

// Engines apply a specification's common edits before those of its first device; NVIDIA's runtime,
// for specifications that it made itself, after those of all devices.
enum class Order : std::uint8_t { kCommonFirst, kDeviceFirst };

// As every engine does it: a variable is replaced where it stands; what a node lacks comes from the
// host, and a cgroup rule allows it; a mount replaces the one of its destination, and all are
// sorted by depth; with a user namespace bind mounts get an id mapping; hooks and groups are added.
// All of it or nothing: on an error the specification is as it was.
[[nodiscard]] base::Result<void> Inject(oci::Spec& spec,
                                        std::span<const Registry::Found> devices,
                                        Order order,
                                        const LookAtHost& look);

}  // namespace partita::cdi
