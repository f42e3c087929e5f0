#include "hw/gpu_reset.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "hw/nvml/library_search.h"

extern char** environ;

namespace partita::hw {
namespace {

std::vector<std::string> Candidates(const std::string& driver_root) {
  std::vector<std::string> paths;
  if (driver_root == "/") {
    if (const char* path = getenv("PATH")) {
      for (const std::string_view directory : base::Split(path, ':')) {
        if (directory.starts_with('/')) paths.push_back(base::JoinPath(directory, "nvidia-smi"));
      }
    }
  }
  for (const char* usual :
       {"/usr/bin/nvidia-smi", "/usr/sbin/nvidia-smi", "/bin/nvidia-smi", "/opt/bin/nvidia-smi"}) {
    const std::string path = base::JoinPath(driver_root, usual);
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  }
  return paths;
}

// The driver's library that the tool must use: the one that we use, or the one below the driver
// root, which is not where the loader looks. Empty: the loader's own choice.
std::string LibraryOf(const ResetOptions& options) {
  if (options.library.find('/') != std::string::npos) return options.library;
  for (const std::string& path : nvml::LibraryCandidates({"", options.driver_root}))
    if (path.find('/') != std::string::npos && base::Exists(path)) return path;
  return "";
}

// That library alone is loaded from there, ahead of the tool's own search, which it then satisfies.
// A search path would bring the root's libc as well, and the tool runs with ours.
std::vector<std::string> ToolEnvironment(const ResetOptions& options) {
  constexpr std::string_view kName = "LD_PRELOAD=";
  std::string preload = LibraryOf(options);
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (preload.empty() || !text.starts_with(kName)) {
      environment.emplace_back(text);
    } else if (text.size() > kName.size()) {
      preload += fmt::format(":{}", text.substr(kName.size()));
    }
  }
  if (!preload.empty()) environment.push_back(fmt::format("{}{}", kName, preload));
  return environment;
}

}  // namespace

base::Result<std::string> FindNvidiaSmi(const std::string& driver_root) {
  const std::vector<std::string> paths = Candidates(driver_root);
  for (const std::string& path : paths) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return base::MakeError(base::ErrorCode::kNotFound,
                         "a GPU reset needs nvidia-smi, and none of these is there: {}",
                         fmt::join(paths, ", "))
      .WithHint("install the driver's tools, or reboot the node instead");
}

base::Result<void> ResetGpus(const std::vector<model::PciAddress>& gpus,
                             const ResetOptions& options) {
  TRY(tool, FindNvidiaSmi(options.driver_root));
  std::vector<std::string> addresses;
  addresses.reserve(gpus.size());
  for (const model::PciAddress& gpu : gpus) addresses.push_back(gpu.NvmlBusId());
  base::Subprocess command;
  command.arguments = {tool, "-r", "-i", fmt::format("{}", fmt::join(addresses, ","))};
  command.environment = ToolEnvironment(options);
  command.limit = options.limit;
  command.stop = options.stop;
  TRY(result, base::Run(command));
  if (result.Succeeded()) return {};
  std::string said(base::Trim(result.output));
  if (said.empty()) said = "it said nothing";
  if (result.stopped) {
    return base::MakeError(base::ErrorCode::kUnavailable, "{} was stopped: {}",
                           fmt::join(command.arguments, " "), said);
  }
  return base::MakeError(
             result.timed_out ? base::ErrorCode::kTimeout : base::ErrorCode::kUnavailable,
             "{} {}: {}", fmt::join(command.arguments, " "), result.Describe(), said)
      .WithHint("stop what uses the GPU, then try again; where a reset is not possible, reboot");
}

}  // namespace partita::hw
