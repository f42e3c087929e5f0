#include "hook/cdi/cuda_compat.h"

#include <algorithm>

#include "base/text.h"
#include "hook/cdi/update_ldcache.h"
#include "hook/container/image_file.h"
#include "hook/flags.h"

namespace partita::hook {
namespace {

constexpr std::string_view kLibrary = "libcuda.so.";

// libcuda.so.*.* in the directory; links, FIFOs and directories count too: more than one thing of
// that name is nothing that we understand.
base::Result<std::vector<std::string>> Candidates(const base::RootDir& root,
                                                  const std::string& directory) {
  TRY(names, root.List(directory));
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (!name.starts_with(kLibrary)) continue;
    TRY(facts, root.Look(fmt::format("{}/{}", directory, name)));
    // A link like libcuda.so.1.1 to the file is no second library.
    if (name.find('.', kLibrary.size()) != std::string::npos && !facts.IsLink())
      found.push_back(name);
  }
  return found;
}

base::Result<std::optional<cdi::CompatNote>> ReadNote(const base::RootDir& root,
                                                      const std::string& path) {
  TRY(file, ImageFile::Open(root, path));
  return cdi::ReadCompatNote(
      [&file](std::uint64_t at, std::span<char> to) { return file.Read(at, to); });
}

}  // namespace

std::optional<std::vector<std::uint64_t>> ParseVersion(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  for (const std::string_view piece : base::Split(text, '.')) {
    const auto number = base::ParseUnsigned(piece);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  while (numbers.size() > 1 && numbers.back() == 0) numbers.pop_back();
  return numbers;
}

bool UseCompat(std::string_view compat,
               const std::optional<cdi::CompatNote>& note,
               const CompatOptions& options) {
  const auto compat_driver = ParseVersion(compat);
  const auto host_driver = ParseVersion(options.host_driver);
  if (note) {
    if (compat_driver && host_driver) {
      const auto& majors = note->driver_majors;
      const bool stands =
          std::find(majors.begin(), majors.end(), host_driver->front()) != majors.end();
      return stands && *compat_driver > *host_driver;
    }
    const auto compat_cuda = ParseVersion(note->cuda_version);
    const auto host_cuda = ParseVersion(options.host_cuda);
    return compat_cuda && host_cuda && *compat_cuda > *host_cuda;
  }
  if (!options.host_cuda.empty() || !compat_driver || !host_driver) return false;
  return compat_driver->front() > host_driver->front();
}

std::optional<std::string> FindCompat(const base::RootDir& root,
                                      const CompatOptions& options,
                                      const Report& report) {
  const base::Result<std::string> directory = root.Resolve(options.directory);
  if (!directory.ok() && directory.error().code() == base::ErrorCode::kNotFound) {
    report.Debug("the image has no " + options.directory);
    return std::nullopt;
  }
  const auto not_used = [&](const base::Error& error) {
    report.Warning(error.ToString() + ": it is not used");
    return std::nullopt;
  };
  if (!directory.ok()) return not_used(directory.error());
  const base::Result<std::vector<std::string>> names = Candidates(root, *directory);
  if (!names.ok()) return not_used(names.error());
  if (names->empty()) return std::nullopt;
  if (names->size() > 1) {
    report.Warning(fmt::format("{} has {} libraries {}*: none of them is used", options.directory,
                               names->size(), kLibrary));
    return std::nullopt;
  }
  if (!CheckFolder(*directory).ok()) {
    report.Warning(fmt::format("{} is no folder for the loader: it is not used", *directory));
    return std::nullopt;
  }
  base::Result<std::optional<cdi::CompatNote>> note =
      ReadNote(root, *directory + "/" + names->front());
  if (!note.ok()) return not_used(note.error());
  const std::string_view version = std::string_view(names->front()).substr(kLibrary.size());
  return UseCompat(version, *note, options) ? std::optional(*directory) : std::nullopt;
}

base::Result<void> EnableCudaCompat(const HookCall& call,
                                    const CompatOptions& options,
                                    const Report& report) {
  const std::optional<std::string> directory = FindCompat(call.root, options, report);
  if (!directory) return {};
  TRY(elsewhere, LoaderFilesElsewhere(call.root));
  if (!elsewhere.empty()) {
    TellElsewhere(elsewhere, report);
    return {};
  }
  return AddLdConf(call.root, "00-compat", std::span(&*directory, 1));
}

base::Result<void> RunEnableCudaCompat(std::span<const std::string> arguments,
                                       CallInput& input,
                                       const Report& report) {
  constexpr Flag kFlags[] = {{"host-driver-version", Takes::kValue},
                             {"host-cuda-version", Takes::kValue},
                             {"cuda-compat-container-root", Takes::kValue},
                             {"container-spec", Takes::kValue}};
  TRY(flags, Flags::Parse(arguments, kFlags));
  CompatOptions options;
  options.host_driver = flags.Value("host-driver-version");
  options.host_cuda = flags.Value("host-cuda-version");
  options.directory = flags.Value("cuda-compat-container-root", options.directory);
  if (options.host_driver.empty() && options.host_cuda.empty()) return {};
  for (const std::string& version : {options.host_driver, options.host_cuda}) {
    if (version.empty() || ParseVersion(version)) continue;
    report.Warning(base::Quoted(version) + " is no version: no library of the image is used");
    return {};
  }
  TRY(call, input.Read(flags.Value("container-spec")));
  return EnableCudaCompat(*call, options, report);
}

}  // namespace partita::hook
