#include "agent/mps/put_back.h"

#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "agent/mps/compute_modes.h"
#include "agent/mps/control.h"
#include "agent/mps/domain_files.h"
#include "agent/mps/known_process.h"
#include "base/files.h"
#include "hw/compute_mode.h"

namespace partita::agent::mps {
namespace {

using base::ErrorCode;
using base::Result;
using model::ComputeMode;
using service::mps::Directories;

// As mps.root of an agent that says nothing else.
constexpr const char* kUsualRoot = "/run/nvidia/mps";
constexpr const char* kEndIt =
    "end its programs, then it: systemctl stop 'partita-mps-*', or delete the pod of the MPS "
    "runner";

// Its number says nothing where processes have others: there every daemon has ended.
Result<void> SeeThatDaemonsAreSeen(const Left& left, const std::string& theirs) {
  const std::string ours = OurPidNamespace();
  if (theirs.empty() || theirs == ours) return {};
  return base::MakeError(ErrorCode::kBusy,
                         "MPS control daemons may still run: those of {} are in the PID namespace "
                         "{}, and this is {}",
                         left.modes_file, theirs, ours.empty() ? "none that can be told" : ours)
      .WithHint(
          "run it on the host or in a pod with hostPID, as kubectl debug node/NODE "
          "--profile=sysadmin makes one; by hand: nvidia-smi -i GPU -c DEFAULT");
}

Result<void> SeeThatNoDaemonLives(const std::string& root,
                                  const std::string& name,
                                  const std::string& boot_id) {
  const Directories directories = service::mps::DirectoriesOf(root, name);
  std::string why;
  const auto record = ReadRecord(directories, &why);
  if (record) {
    const auto daemon = OpenProcess(record->process, boot_id, kControlProgram);
    if (daemon.ok()) {
      return base::MakeError(ErrorCode::kBusy,
                             "the MPS control daemon of {} still runs (process {})", name,
                             record->process.pid)
          .WithHint(kEndIt);
    }
    if (daemon.error().code() != ErrorCode::kNotFound) return daemon.error();
    why = directories.record + " is of one that has ended";
  }
  if (!IsSocketHeld(directories)) return {};
  if (why.empty()) why = "there is no " + directories.record;
  return base::MakeError(ErrorCode::kBusy, "an MPS control daemon has the sockets in {}, and {}",
                         directories.pipe, why)
      .WithHint(fmt::format("{}; {}/nvidia-cuda-mps-control.pid has its number", kEndIt,
                            directories.pipe));
}

Result<void> SeeThatNoDaemonLives(const Left& left, const ComputeModes::Home& home) {
  TRY_VOID(SeeThatDaemonsAreSeen(left, home.pid_namespace));
  std::set<std::string> roots = {left.mps_root, home.root};
  roots.erase("");
  if (roots.empty()) roots.insert(kUsualRoot);
  for (const std::string& each : roots) {
    const std::string root = base::JoinPath(left.host_root, each);
    if (!base::Exists(root)) continue;
    TRY(names, base::ListDirectory(root));
    for (const std::string& name : names) {
      if (service::mps::IsDomainName(name)) {
        TRY_VOID(SeeThatNoDaemonLives(root, name, left.boot_id));
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<PutBack>> PutModesBack(const Left& left, const hw::ReaderOptions& reader) {
  const std::shared_ptr<hw::nvml::Driver> driver = hw::MakeDriver(reader);
  bool changed = false;
  ComputeModes modes(
      left.modes_file, left.boot_id,
      {.read = [&](const model::PciAddress& gpu) { return hw::ReadComputeMode(*driver, gpu); },
       .set =
           [&](const model::PciAddress& gpu, ComputeMode mode) {
             changed = true;
             return hw::SetComputeMode(*driver, gpu, mode);
           }});
  TRY(exclusive, modes.Load());
  std::vector<PutBack> all;
  if (exclusive.empty()) return all;
  TRY_VOID(SeeThatNoDaemonLives(left, modes.home()));
  for (const auto& [uuid, before] : exclusive) {
    changed = false;
    Result<void> end = modes.Restore(uuid);
    PutBack one{.uuid = uuid, .before = before, .changed = changed, .error = std::nullopt};
    if (!end.ok()) one.error = std::move(end).error();
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace partita::agent::mps
