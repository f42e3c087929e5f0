// A process that was started earlier, perhaps by another agent: known by more than its number.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/mps/record.h"

namespace partita::agent::mps {

// When a process started, in the kernel's ticks since boot: with the pid it is that of one process.
[[nodiscard]] base::Result<std::uint64_t> ReadStartTime(model::Pid pid);

// A descriptor of that very process: of this boot, started then, and a program of that name.
// kNotFound: it has ended, or its number is another's.
[[nodiscard]] base::Result<base::UniqueFd> OpenProcess(const service::mps::Process& process,
                                                       std::string_view boot_id,
                                                       std::string_view program);
// The same of a process that is known by its number and program alone.
[[nodiscard]] base::Result<base::UniqueFd> OpenProgram(model::Pid pid, std::string_view program);
// The same of one that may be anybody's: its memory is read only where it is in our PID namespace
// and the kernel has that name for it, too. Who reads waits for whoever has that memory locked,
// stuck in a driver or by its own will, for as long as it does.
[[nodiscard]] base::Result<base::UniqueFd> OpenOurProgram(model::Pid pid, std::string_view program);

// The name of ours, "pid:[4026531836]"; empty where that cannot be seen.
[[nodiscard]] std::string OurPidNamespace();

// Whether it was started with this in its environment.
[[nodiscard]] bool HasVariable(model::Pid pid, std::string_view name, std::string_view value);

// Blocks. False: it has not ended by then, or when `stop` became true. The end of a child of ours
// is taken notice of.
[[nodiscard]] bool WaitForEnd(int process,
                              std::chrono::milliseconds limit,
                              const std::atomic<bool>* stop = nullptr);
void Reap(int process);
void Signal(int process, int number);

}  // namespace partita::agent::mps
