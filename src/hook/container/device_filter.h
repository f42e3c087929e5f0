// The program by which cgroup v2 decides who may open which device: the container's own, and more
// devices.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace partita::hook {

struct DeviceRule {
  char type = 'c';  // 'c' or 'b'
  std::uint32_t major = 0, minor = 0;
  bool read = true, write = true, make = false;
  bool any_minor = false;  // all devices of the major number
  bool operator==(const DeviceRule&) const = default;
};

// "c 195:0 rw"
[[nodiscard]] std::string ToString(const DeviceRule& rule);

// The rules' checks before the program, which decides about everything else as it did: it finds its
// context where it left it, and its jumps are relative. Only r0 and r2 to r5 are used.
[[nodiscard]] std::vector<bpf_insn> WithRules(std::span<const bpf_insn> program,
                                              std::span<const DeviceRule> rules);

// Only these, for a cgroup that has no program of its own yet, an open directory of cgroup v2. What
// is not allowed above it stays refused.
[[nodiscard]] base::Result<void> AllowOnlyByFilter(int cgroup, std::span<const DeviceRule> rules);

// For every program of this cgroup, an open directory of cgroup v2: the one with the rules takes
// its place, without a moment in which less or more is allowed (Linux 5.6; before, a moment in
// which both decide). A cgroup without any program allows everything: nothing is done. All or
// nothing but for a failure of the kernel half-way, which the error tells.
[[nodiscard]] base::Result<void> AllowByFilter(int cgroup, std::span<const DeviceRule> rules);

}  // namespace partita::hook
