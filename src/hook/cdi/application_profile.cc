#include "hook/cdi/application_profile.h"

#include <cerrno>

#include "hook/container/proc_view.h"
#include "hook/flags.h"

namespace partita::hook {
namespace {

constexpr char kDirectory[] = "/etc/nvidia/nvidia-application-profiles-rc.d";
constexpr char kProfileFile[] = "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf";
constexpr std::uint32_t kMaskBits = 64;

}  // namespace

std::optional<std::uint64_t> VisibleMask(const std::set<std::uint32_t>& minors) {
  std::uint64_t mask = 0;
  for (const std::uint32_t minor : minors) {
    if (minor < kMaskBits) mask |= std::uint64_t{1} << minor;
  }
  return mask == 0 ? std::nullopt : std::optional(mask);
}

std::string ApplicationProfile(std::uint64_t mask) {
  return fmt::format(
      R"({{"profiles":[{{"name":"_container_","settings":["EGLVisibleDGPUDevices",{:#x}]}}],)"
      R"("rules":[{{"pattern":[],"profile":"_container_"}}]}})",
      mask);
}

base::Result<void> WriteApplicationProfile(const base::RootDir& root, std::uint64_t mask) {
  TRY(made, root.MakeDirectories(kDirectory, 0555));
  return root.Replace(kProfileFile, ApplicationProfile(mask), 0444);
}

base::Result<void> UpdateApplicationProfile(const HookCall& call, const Report& report) {
  const std::set<std::uint32_t> minors = ReadInjectedNodes(call.root, std::nullopt).gpus;
  for (const std::uint32_t minor : minors) {
    if (minor >= kMaskBits)
      report.Warning(fmt::format("/dev/nvidia{}: EGL counts no minor above 63", minor));
  }
  const auto mask = VisibleMask(minors);
  if (!mask) return {};
  base::Result<void> written = WriteApplicationProfile(call.root, *mask);
  const auto native = written.ok() ? std::nullopt : written.error().native();
  if (!native || native->value != EROFS) return written;
  report.Warning(written.error().ToString() + ": programs that draw may see no GPU");
  return {};
}

base::Result<void> RunUpdateApplicationProfile(std::span<const std::string> arguments,
                                               CallInput& input,
                                               const Report& report) {
  constexpr Flag kFlags[] = {{"container-spec", Takes::kValue}};
  TRY(flags, Flags::Parse(arguments, kFlags));
  TRY(call, input.Read(flags.Value("container-spec")));
  return UpdateApplicationProfile(*call, report);
}

}  // namespace partita::hook
