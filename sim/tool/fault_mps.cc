// `partita-sim fault mps`: asks a control daemon to have a client fault, as a kernel's illegal
// access would.

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "base/text.h"
#include "base/unique_fd.h"
#include "sim/cuda/mps_wire.h"
#include "sim/tool/commands.h"

namespace partita::sim::tool {
namespace {

using base::ErrorCode;

base::Result<std::string> AskDaemon(const std::string& directory, const std::string& command) {
  const base::UniqueFd daemon(mps::Connect(directory.c_str(), "control_privileged"));
  if (!daemon.valid()) {
    return base::MakeError(ErrorCode::kNotFound, "no MPS control daemon at {}", directory)
        .WithHint("give the CUDA_MPS_PIPE_DIRECTORY that it was started with, as this user");
  }
  static mps::TextFrame frame;
  frame.kind = mps::Kind::kCommand;
  const std::size_t size = command.copy(frame.text, mps::kMostText);
  constexpr std::size_t kHead = offsetof(mps::TextFrame, text);
  const int error = mps::Send(daemon.get(), &frame, kHead + size);
  if (error != 0) return base::ErrnoError("ask the daemon at " + directory, error);
  const long got = mps::Receive(daemon.get(), &frame, sizeof frame, 0);
  if (got < static_cast<long>(kHead)) {
    return base::MakeError(ErrorCode::kInternal, "the daemon at {} did not answer", directory);
  }
  return std::string(frame.text, static_cast<std::size_t>(got) - kHead);
}

base::Result<void> FaultMps(const base::Invocation& invocation) {
  const std::string& directory = invocation.arguments().front();
  std::uint64_t client = 0;
  if (const std::optional<std::string> text = invocation.Get("client")) {
    const auto number = base::ParseUnsigned(*text);
    if (!number || *number == 0 || *number > 0x7FFFFFFF) {
      return base::MakeError(ErrorCode::kInvalid, "--client: not a pid: {}", base::Quoted(*text));
    }
    client = *number;
  }
  TRY(refusal, AskDaemon(directory, fmt::format("partita_sim_fault {}", client)));
  if (refusal.empty()) return {};
  return base::MakeError(ErrorCode::kNotFound, "the daemon at {} says: {}", directory,
                         base::Trim(refusal))
      .WithHint("its commands ps and get_client_list name the clients");
}

}  // namespace

int RunFaultMps(const base::Invocation& invocation) { return Finish(FaultMps(invocation)); }

}  // namespace partita::sim::tool
