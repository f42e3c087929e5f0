#include "agent/mps/control.h"

#include <utility>

#include <fmt/format.h>

#include "base/subprocess.h"
#include "base/text.h"

namespace partita::agent::mps {
namespace {

using base::ErrorCode;
using base::Result;

// `quit -t 5` is the longest of our commands.
constexpr std::chrono::seconds kCommandLimit{15};
constexpr std::size_t kMostAnswer = std::size_t{64} * 1024;
constexpr std::string_view kNobody = "Cannot find MPS control daemon process";
constexpr std::string_view kDeaf = "Cannot send command to MPS control daemon process";

}  // namespace

std::string PathFor(const std::string& program) {
  return fmt::format("PATH={}:/usr/bin:/bin", program.substr(0, program.rfind('/')));
}

Control::Control(std::string program,
                 const service::mps::Directories& directories,
                 const std::atomic<bool>* stop)
    : program_(std::move(program)),
      environment_(service::mps::EnvironmentToAsk(directories)),
      stop_(stop) {}

Result<std::string> Control::Ask(std::string_view command) const {
  return AskAll({std::string(command)});
}

Result<std::string> Control::AskAll(const std::vector<std::string>& commands) const {
  base::Subprocess subprocess;
  subprocess.arguments = {program_};
  subprocess.environment = environment_;
  subprocess.input = base::Join(commands, "\n") + "\n";
  subprocess.limit = kCommandLimit;
  subprocess.stop = stop_;
  subprocess.most_output = kMostAnswer;
  TRY(end, base::Run(subprocess));
  if (end.Succeeded()) return std::move(end.output);
  const std::string said(base::Trim(end.output));
  const bool nobody = said.ends_with(kNobody) || said.ends_with(kDeaf);
  const ErrorCode code = nobody          ? ErrorCode::kUnavailable
                         : end.timed_out ? ErrorCode::kTimeout
                                         : ErrorCode::kIo;
  return base::MakeError(
      code, "{} {}: {}", kControlProgram, base::Quoted(base::Join(commands, "; ")),
      said.empty() || !nobody ? end.Describe() + (said.empty() ? "" : ": " + said) : said);
}

}  // namespace partita::agent::mps
