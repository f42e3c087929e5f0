#include "agent/mig_at_start.h"

#include <algorithm>
#include <array>

#include "agent/boot_id.h"
#include "base/files.h"
#include "base/text.h"

namespace partita::agent {
namespace {

std::string BootFile(const std::string& state_directory) {
  return base::JoinPath(state_directory, "mig-boot");
}

bool HasBootUnit(const std::string& root) {
  constexpr std::array kPlaces = {"etc/systemd/system", "run/systemd/system",
                                  "usr/lib/systemd/system", "lib/systemd/system"};
  return std::any_of(kPlaces.begin(), kPlaces.end(), [&](const char* place) {
    return base::Exists(base::JoinPath(base::JoinPath(root, place), "partita-mig.service"));
  });
}

// Of a machine on which no agent ran before nobody knows what a reboot took.
bool FirstOfThisBoot(const std::string& state_directory) {
  const base::Result<std::string> before = base::ReadFile(BootFile(state_directory));
  const base::Result<std::string> now = ReadBootId();
  return before.ok() && now.ok() && base::Trim(*before) != *now;
}

}  // namespace

service::mig::WantedLayout WantedLayoutOf(const config::AgentConfig& config,
                                          const std::string& state_directory) {
  return {config.mig_config_file.value, config.mig_default.value, state_directory};
}

service::mig::BootChoice BootChoiceOf(const config::AgentConfig& config) {
  service::mig::BootChoice choice;
  choice.selected_config = config.mig_default.value;
  // Without a selection no file is read.
  if (!choice.selected_config.empty()) choice.config_file = config.mig_config_file.value;
  choice.hooks_file = config.mig_hooks_file.value;
  choice.gpu_clients_file = config.mig_gpu_clients_file.value;
  return choice;
}

bool MayBeOursToBringBack(const config::AgentConfig& config, const std::string& state_directory) {
  return config.mig_restore_at_boot.value == "applied" && !HasBootUnit(config.host_root.value) &&
         FirstOfThisBoot(state_directory);
}

bool IsOursToBringBack(const service::mig::LayoutCheck& check,
                       const config::AgentConfig& config,
                       const std::string& state_directory) {
  return check.lost && MayBeOursToBringBack(config, state_directory);
}

base::Result<void> RememberThisBoot(const std::string& state_directory) {
  TRY(boot, ReadBootId());
  const base::Result<std::string> before = base::ReadFile(BootFile(state_directory));
  if (before.ok() && base::Trim(*before) == boot) return {};
  TRY_VOID(base::MakeDirectories(state_directory, 0700));
  return base::WriteFileAtomically(BootFile(state_directory), boot + "\n", 0600);
}

}  // namespace partita::agent
