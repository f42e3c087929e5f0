#include "service/toolkit/mends.h"

#include <fmt/format.h>

#include "base/text.h"

namespace partita::service::toolkit {

std::string Generate(std::string_view path, std::string_view more) {
  return fmt::format("partita cdi generate{} {}", more, base::ShellWord(path));
}

std::string CloseFile(const std::string& path) {
  return fmt::format("chown root:root {0} && chmod go-w {0}", base::ShellWord(path));
}

std::string CloseProgram(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string both =
      base::ShellWord(path) + " " + base::ShellWord(slash == 0 ? "/" : path.substr(0, slash));
  return fmt::format("chown root:root {0} && chmod go-w {0}", both);
}

std::string MakeCapabilities(const HostFacts& facts) {
  const auto major = facts.majors.find("nvidia-caps");
  if (major == facts.majors.end()) return "";
  std::string command = "mkdir -p /dev/nvidia-caps";
  for (const MissingCapability& node : facts.missing_capabilities)
    command += fmt::format(" && mknod -m {:04o} {} c {} {}", node.mode, base::ShellWord(node.path),
                           major->second, node.minor);
  return command;
}

}  // namespace partita::service::toolkit
