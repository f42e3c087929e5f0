#include "hook/cdi/update_ldcache.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "base/text.h"
#include "cdi/elf.h"
#include "hook/container/image_file.h"
#include "hook/container/ldconfig.h"
#include "hook/flags.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;

std::string Lines(std::span<const std::string> directories) {
  std::string lines;
  for (const std::string& directory : directories) lines += directory + "\n";
  return lines;
}

// The image's own lines stay. Its file may lie elsewhere in the image, by a link.
base::Result<void> AppendMuslPath(const base::RootDir& root, std::span<const std::string> lines) {
  if (lines.empty()) return {};
  const std::string path = MuslPathFile();
  base::Result<std::string> before = ReadImageText(root, path, std::size_t{1} << 20);
  if (!before.ok() && before.error().code() != ErrorCode::kNotFound)
    return std::move(before).error();
  std::string text = before.ok() ? *before : "";
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return root.Rewrite(path, text + Lines(lines), 0644);
}

// Of one library: the name that the loader asks for. An image may have anything in there: what is
// no ELF file, or has a path for a name, is left alone.
void LinkSoname(const base::RootDir& root, const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  const base::Result<base::FileFacts> facts = root.Look(path);
  if (!facts.ok() || !facts->IsRegular()) return;
  const base::Result<ImageFile> file = ImageFile::Open(root, path);
  if (!file.ok()) return;
  const auto sonames = cdi::ReadSonames(
      [&file](std::uint64_t at, std::span<char> to) { return file->Read(at, to); });
  if (!sonames.ok()) return;
  for (const std::string& soname : *sonames) {
    if (soname.empty() || soname == name || soname.find('/') != std::string::npos) continue;
    const std::string link = fmt::format("{}/{}", folder, soname);
    if (root.Look(link).ok()) continue;
    // Cosmetic here: a folder that cannot be written is told by what does not work.
    [[maybe_unused]] const base::Result<void> linked = root.PutLink(name, link);
  }
}

// What ldconfig will not come across: the image's ld.so.conf may include nothing of ours.
base::Result<std::vector<std::string>> Unlisted(const base::RootDir& root,
                                                std::span<const std::string> folders) {
  TRY(image, ReadImageFacts(root));
  return PlanLoaderFiles(image, folders).folders;
}

// A file of an earlier start that says the same.
bool IsThere(const base::RootDir& root, std::string_view prefix, const std::string& lines) {
  std::size_t names_left = 4096;
  const auto files =
      root.GlobWithin(fmt::format("{}/{}-*.conf", kLdConfDirectory, prefix), names_left);
  return files.ok() && std::any_of(files->begin(), files->end(), [&](const std::string& path) {
           const base::Result<std::string> text = ReadImageText(root, path, lines.size());
           return text.ok() && *text == lines;
         });
}

}  // namespace

base::Result<void> CheckFolder(std::string_view folder) {
  const bool broken = std::any_of(folder.begin(), folder.end(), [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '#' || c == '*' || c == '?';
  });
  if (folder.starts_with('/') && !broken) return {};
  return MakeError(ErrorCode::kInvalid, "{} is no folder for the loader", base::Quoted(folder))
      .WithHint("it begins with / and has no spaces, control characters, #, * or ?");
}

base::Result<std::string> LoaderFilesElsewhere(const base::RootDir& root) {
  for (const char* directory : {"/etc", kLdConfDirectory}) {
    const base::Result<bool> own = root.IsOnOwnMount(directory);
    if (own.ok() && !*own) return std::string(directory);
    if (!own.ok() && own.error().code() != ErrorCode::kNotFound) return own.error();
  }
  return std::string();
}

void TellElsewhere(const std::string& directory, const Report& report) {
  report.Warning(directory + " is a mount of the container: no files are put there");
}

base::Result<void> AddLdConf(const base::RootDir& root,
                             std::string_view prefix,
                             std::span<const std::string> directories) {
  if (directories.empty() || IsThere(root, prefix, Lines(directories))) return {};
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    return base::ErrnoError("get a random number");
  TRY(made, root.MakeDirectories(kLdConfDirectory, 0755));
  return root.WriteNew(fmt::format("{}/{}-{:016x}.conf", kLdConfDirectory, prefix, number),
                       Lines(directories), 0644);
}

base::Result<void> WriteLoaderFiles(const base::RootDir& root, const LoaderFiles& files) {
  if (files.make_ld_conf) {
    TRY(made, root.MakeDirectories("/etc", 0755));
    TRY_VOID(root.WriteNew(kLdConf, fmt::format("include {}/*.conf\n", kLdConfDirectory), 0644));
  }
  TRY_VOID(AddLdConf(root, "00-nvcr", files.folders));
  TRY_VOID(AddLdConf(root, "zz-nvcr", files.system));
  return AppendMuslPath(root, files.musl);
}

void LinkSonames(const base::RootDir& root, std::span<const std::string> folders) {
  for (const std::string& folder : folders) {
    for (const std::string& path : root.Glob(folder + "/lib*.so.*"))
      LinkSoname(root, folder, path.substr(path.rfind('/') + 1));
  }
}

base::Result<void> UpdateLdcache(const HookCall& call,
                                 const UpdateLdcacheOptions& options,
                                 const Report& report) {
  for (const std::string& folder : options.folders) TRY_VOID(CheckFolder(folder));
  TRY(image, ReadImageFacts(call.root));
  TRY(elsewhere, LoaderFilesElsewhere(call.root));
  if (!elsewhere.empty()) TellElsewhere(elsewhere, report);
  if (elsewhere == "/etc") {
    LinkSonames(call.root, options.folders);
    return {};
  }
  if (elsewhere.empty())
    TRY_VOID(WriteLoaderFiles(call.root, PlanLoaderFiles(image, options.folders)));
  TRY(unlisted, Unlisted(call.root, options.folders));
  base::Result<void> ran = RunLdconfig(call.root, {options.ldconfig, unlisted});
  if (ran.ok()) return {};
  const ErrorCode code = ran.error().code();
  if (code != ErrorCode::kNotFound && code != ErrorCode::kUnavailable) return ran;
  LinkSonames(call.root, options.folders);
  report.Warning(ran.error().ToString() +
                 "; the loader's files and links are there, its cache is not");
  return {};
}

base::Result<void> RunUpdateLdcache(std::span<const std::string> arguments,
                                    CallInput& input,
                                    const Report& report) {
  constexpr Flag kFlags[] = {{"folder", Takes::kValues},
                             {"ldconfig-path", Takes::kValue},
                             {"container-spec", Takes::kValue}};
  TRY(flags, Flags::Parse(arguments, kFlags));
  const UpdateLdcacheOptions options{flags.Values("folder"),
                                     flags.Value("ldconfig-path", "/sbin/ldconfig")};
  if (options.ldconfig.empty())
    return MakeError(ErrorCode::kInvalid, "the flag --ldconfig-path needs a value");
  TRY(call, input.Read(flags.Value("container-spec")));
  return UpdateLdcache(*call, options, report);
}

}  // namespace partita::hook
