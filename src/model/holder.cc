#include "model/holder.h"

#include <fmt/format.h>

#include "base/characters.h"

namespace partita::model {

std::string ContainerText(const Container& container) {
  constexpr std::size_t kShortId = 12;  // as the runtimes' own tools print it
  std::string text;
  if (!container.pod_name.empty())
    text = fmt::format("pod {}/{}", container.pod_namespace, container.pod_name);
  else if (!container.pod_uid.empty())
    text = fmt::format("pod {}", container.pod_uid);
  else if (!container.id.empty())
    return fmt::format("container {}", container.id.substr(0, kShortId));
  if (!text.empty() && !container.name.empty()) text += fmt::format(" ({})", container.name);
  return text;
}

std::string HolderText(const Process& process) {
  std::string text = fmt::format("pid {}", process.pid.value());
  if (!process.name.empty()) text += fmt::format(" ({})", process.name);
  const std::string where = process.container ? ContainerText(*process.container) : "";
  if (!where.empty()) text += fmt::format(" in {}", where);
  return base::Printable(text);
}

std::string HowToEnd(const Process& process) {
  constexpr std::string_view kServer = "nvidia-cuda-mps-server";
  std::string_view program = process.name;
  program = program.substr(0, program.find(' '));
  if (program.substr(program.rfind('/') + 1) != kServer) return "";
  // Its daemon is found by what it was started with: it may be anybody's, in any directory.
  return fmt::format(
      "pid {0} is a server of MPS, which stays when its clients have gone; as root, this has it "
      "end once it has none: echo shutdown_server {0} | env \"$(tr '\\0' '\\n' "
      "</proc/{0}/environ | grep ^CUDA_MPS_PIPE_DIRECTORY=)\" nvidia-cuda-mps-control",
      process.pid.value());
}

std::string HolderText(const HiddenHolder& holder) {
  constexpr double kGibi = 1 << 30, kMebi = 1 << 20;
  const auto bytes = static_cast<double>(holder.memory.value());
  std::string text = fmt::format("somebody who cannot be seen from here holds {}",
                                 bytes < kGibi ? fmt::format("{:.0f} MiB", bytes / kMebi)
                                               : fmt::format("{:.1f} GiB", bytes / kGibi));
  if (holder.gpu_instance) text += fmt::format(" in GPU instance {}", holder.gpu_instance->value());
  return text;
}

}  // namespace partita::model
