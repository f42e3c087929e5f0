#include "agent/mps/put_back.h"

#include <memory>
#include <utility>

#include "agent/mps/compute_modes.h"
#include "agent/mps/control.h"
#include "agent/mps/domain_files.h"
#include "agent/mps/known_process.h"
#include "base/files.h"
#include "hw/compute_mode.h"

namespace partita::agent::mps {

using base::Result;
using model::ComputeMode;

Result<void> SeeThatNoDaemonLives(const std::string& root, const std::string& boot_id) {
  if (!base::Exists(root)) return {};
  TRY(names, base::ListDirectory(root));
  for (const std::string& name : names) {
    if (!service::mps::IsDomainName(name)) continue;
    std::string why;
    const auto record = ReadRecord(service::mps::DirectoriesOf(root, name), &why);
    if (!record) continue;
    const auto daemon = OpenProcess(record->process, boot_id, kControlProgram);
    if (!daemon.ok() && daemon.error().code() == base::ErrorCode::kNotFound) continue;
    if (!daemon.ok()) return daemon.error();
    return base::MakeError(base::ErrorCode::kBusy,
                           "the MPS control daemon of {} still runs (process {})", name,
                           record->process.pid)
        .WithHint(
            "end its programs, then it: systemctl stop 'partita-mps-*', or delete the pod of the "
            "MPS runner");
  }
  return {};
}

Result<std::vector<PutBack>> PutModesBack(const std::string& modes_file,
                                          const std::string& boot_id,
                                          const hw::ReaderOptions& reader) {
  const std::shared_ptr<hw::nvml::Driver> driver = hw::MakeDriver(reader);
  bool changed = false;
  ComputeModes modes(
      modes_file, boot_id,
      {.read = [&](const model::PciAddress& gpu) { return hw::ReadComputeMode(*driver, gpu); },
       .set =
           [&](const model::PciAddress& gpu, ComputeMode mode) {
             changed = true;
             return hw::SetComputeMode(*driver, gpu, mode);
           }});
  TRY(left, modes.Load());
  std::vector<PutBack> all;
  for (const auto& [uuid, before] : left) {
    changed = false;
    Result<void> end = modes.Restore(uuid);
    PutBack one{.uuid = uuid, .before = before, .changed = changed, .error = std::nullopt};
    if (!end.ok()) one.error = std::move(end).error();
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace partita::agent::mps
