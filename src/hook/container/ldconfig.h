// The host's ldconfig, run in a container's root.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root_dir.h"

namespace partita::hook {

struct LdconfigCall {
  std::string path = "/sbin/ldconfig";   // the host's; "@" before it means the same
  std::vector<std::string> directories;  // that it looks into besides
};

// Runs a copy of it that nobody can change, in namespaces of its own whose root is the container's,
// without /proc, /sys and /dev, with an empty environment, almost no capabilities, limits and few
// system calls. Nothing of the image is executed.
//
// It ends when this process does.
//
// kInvalid: what bears a library's name is a FIFO. kNotFound: the host has none, or one that would
// need the image's loader. kUnavailable: this kernel or container does not let us isolate it.
// kTimeout: it took longer than 30 s. kIo: it failed, with what it said.
[[nodiscard]] base::Result<void> RunLdconfig(const base::RootDir& root, const LdconfigCall& call);

// Does the kernel run this ELF program without a loader?
[[nodiscard]] bool IsStaticProgram(std::string_view elf_file);

}  // namespace partita::hook
