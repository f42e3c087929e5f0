#include "service/cdi/spec_file.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "cdi/text.h"
#include "cdi/validate.h"
#include "service/cdi/driver_root.h"

namespace partita::service::cdi {

namespace {

using base::ErrorCode;
using base::Result;
using partita::cdi::Spec;

constexpr mode_t kMode = 0644;  // engines of ordinary users read it too
constexpr std::string_view kYaml = ".yaml", kJson = ".json";

Result<std::string> Render(const std::string& path, const Spec& spec) {
  if (path.ends_with(kJson)) return partita::cdi::ToJson(spec);
  if (path.ends_with(kYaml)) return partita::cdi::ToYaml(spec);
  return base::MakeError(ErrorCode::kInvalid, "{}: the name of a CDI file ends in .yaml or .json",
                         path)
      .WithHint("engines read no others, .yml neither");
}

// A link to another name of its own folder: engines would find every device in both.
Result<void> CheckLink(const std::string& path) {
  if (!base::ReadLink(path).ok()) return {};
  TRY(leads, base::RealPath(path));
  TRY(folder, base::RealPath(std::string(FolderOf(path)) + "/"));
  const std::string beside = base::JoinPath(folder, NameOf(leads));
  if (leads != beside || !IsSpecName(leads)) return {};
  return base::MakeError(ErrorCode::kConflict, "{} is a link to {} of the same directory", path,
                         NameOf(leads))
      .WithHint("devices that two files of a directory define can be used by nobody: name " +
                leads + " itself");
}

// What cannot be read or understood defines nothing.
Result<void> CheckAlone(const std::string& path, const std::string& kind) {
  const std::string folder(FolderOf(path));
  const Result<std::vector<std::string>> names = base::ListDirectory(folder);
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    if (name == NameOf(path) || !IsSpecName(name)) continue;
    const std::string other = base::JoinPath(folder, name);
    Result<std::string> text = base::ReadRegularFile(other);
    if (!text.ok()) continue;
    const Result<Spec> spec = partita::cdi::Parse(*std::move(text), other);
    if (!spec.ok() || spec->kind != kind) continue;
    return base::MakeError(ErrorCode::kConflict, "{} defines devices of {} too", other, kind)
        .WithHint("devices that two files of a directory define can be used by nobody: remove " +
                  other + " if it is not needed");
  }
  return {};
}

bool IsWritten(const std::string& path, std::string_view bytes) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0 || (about.st_mode & 07777U) != kMode) return false;
  if (static_cast<std::size_t>(about.st_size) != bytes.size()) return false;
  const Result<std::string> now = base::ReadRegularFile(path);
  return now.ok() && *now == bytes;
}

}  // namespace

bool IsSpecName(std::string_view name) { return name.ends_with(kYaml) || name.ends_with(kJson); }

Result<Written> WriteSpecFile(const std::string& path, const Spec& spec) {
  TRY_VOID(partita::cdi::CheckToWrite(spec), "{}", path);
  TRY(bytes, Render(path, spec));
  TRY_VOID(base::MakeDirectories(std::string(FolderOf(path)), 0755));
  TRY_VOID(CheckLink(path));
  TRY_VOID(CheckAlone(path, spec.kind));
  if (IsWritten(path, bytes)) return Written::kUnchanged;
  TRY_VOID(base::ReplaceRegularFile(path, bytes, kMode));
  return Written::kNew;
}

}  // namespace partita::service::cdi
