#include "hook/cdi/device_nodes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/text.h"
#include "hook/container/mounts.h"
#include "hook/container/proc_view.h"
#include "hook/flags.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;
using base::RootDir;
using base::UniqueFd;

constexpr Flag kOnlyTheState[] = {{"container-spec", Takes::kValue}};

// A file of its own to be mounted. Copies of mounts can only be made of what is attached: for that
// moment the container's own directory is covered by it, and nothing of it stays.
base::Result<UniqueFd> FileInMemory(const UniqueFd& meanwhile_over,
                                    const std::string& bytes,
                                    const MountAttributes& attributes) {
  constexpr char kName[] = "params";
  TRY(tree, NewTmpfs(0555, bytes.size() + 65536));
  TRY(memory, RootDir::At(UniqueFd(fcntl(tree.get(), F_DUPFD_CLOEXEC, 0)), "memory"));
  TRY_VOID(memory.WriteNew(kName, bytes, 0444));
  TRY_VOID(Attach(tree, meanwhile_over));
  base::Result<UniqueFd> file = CloneTreeAt(tree, kName, attributes);
  TRY_VOID(Detach(tree));
  return file;
}

base::Result<void> ChangeMode(const RootDir& root, const std::string& path, mode_t mode) {
  constexpr mode_t kBits = 07777;
  base::Result<UniqueFd> file = root.OpenToChange(path);
  if (!file.ok() && file.error().code() == ErrorCode::kNotFound) return {};
  if (!file.ok()) return std::move(file).error();
  struct stat about = {};
  if (fstat(file->get(), &about) != 0) return base::ErrnoError(fmt::format("look at {}", path));
  if ((about.st_mode & kBits) == mode) return {};
  // A device is not opened for it.
  TRY(own, base::OpenOwnDescriptors());
  if (fchmodat(own.get(), fmt::format("{}", file->get()).c_str(), mode, 0) != 0)
    return base::ErrnoError(fmt::format("chmod {}", path));
  return {};
}

}  // namespace

base::Result<void> ProtectDeviceNodes(const HookCall& call) {
  constexpr MountAttributes kAttributes{.read_only = true, .no_exec = true, .no_devices = true};
  TRY(host, RootDir::Open("/"));
  constexpr char kParams[] = "/proc/driver/nvidia/params";
  base::Result<std::string> params = host.Read(kParams, std::size_t{1} << 20);
  if (!params.ok() && params.error().code() == ErrorCode::kNotFound) return {};
  if (!params.ok()) return std::move(params).error();
  const std::optional<std::string> safe = ProtectedParams(*params);
  if (!safe) return {};
  TRY(proc, OpenProc(call.root));
  TRY(directory, MountTarget(proc, "/driver/nvidia"));
  TRY(target, MountTarget(proc, "/driver/nvidia/params"));
  TRY_VOID(KeepMountsHere(call.root, target));
  TRY(file, FileInMemory(directory, *safe, kAttributes));
  return Place(file, target, kAttributes);
}

base::Result<void> RunProtectDeviceNodes(std::span<const std::string> arguments,
                                         CallInput& input,
                                         const Report&) {
  TRY(flags, Flags::Parse(arguments, kOnlyTheState));
  TRY(call, input.Read(flags.Value("container-spec")));
  return ProtectDeviceNodes(*call);
}

base::Result<void> RunRestrictProc(std::span<const std::string> arguments,
                                   CallInput& input,
                                   const Report&) {
  TRY(flags, Flags::Parse(arguments, kOnlyTheState));
  TRY(call, input.Read(flags.Value("container-spec")));
  TRY(host, RootDir::Open("/"));
  HostProc proc = ReadHostGpus(host);
  const InjectedNodes nodes = ReadInjectedNodes(call->root, proc.caps_major);
  if (!nodes.capabilities.empty()) proc = ReadHostProc(host);
  TRY(held, HoldProc(host, ViewFor(nodes, proc)));
  return ShowProc(call->root, held);
}

base::Result<void> ChangeModes(const HookCall& call,
                               std::span<const std::string> paths,
                               mode_t mode,
                               const Report& report) {
  for (const std::string& path : paths) {
    base::Result<void> changed = ChangeMode(call.root, path, mode);
    if (changed.ok()) continue;
    // The host's whole /dev may be mounted (nvidia-container-toolkit #143).
    if (changed.error().code() != ErrorCode::kDenied) return changed;
    report.Debug(changed.error().ToString());
  }
  return {};
}

base::Result<void> RunChmod(std::span<const std::string> arguments,
                            CallInput& input,
                            const Report& report) {
  constexpr Flag kFlags[] = {
      {"path", Takes::kValues}, {"mode", Takes::kValue}, {"container-spec", Takes::kValue}};
  TRY(flags, Flags::Parse(arguments, kFlags));
  const auto mode = base::ParseUnsigned(flags.Value("mode"), 8);
  if (!mode || *mode > 07777)
    return MakeError(ErrorCode::kInvalid, "{} is no mode", base::Quoted(flags.Value("mode")))
        .WithHint("write it in octal: --mode 755");
  for (const std::string& path : flags.Values("path")) {
    if (base::Trim(path).empty()) return MakeError(ErrorCode::kInvalid, "a path is empty");
  }
  TRY(call, input.Read(flags.Value("container-spec")));
  return ChangeModes(*call, flags.Values("path"), static_cast<mode_t>(*mode), report);
}

}  // namespace partita::hook
