#include "service/toolkit/configure.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/lock_file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "service/toolkit/remembered.h"

namespace partita::service::toolkit {
namespace {

// Paths and programs as NVIDIA's own set-up has them. Of hooks podman 4.3.1 reads, unless it is
// told otherwise, that one folder alone (seen), not the one below /etc.
constexpr std::array<EngineRow, 3> kEngines = {{
    {Engine::kDocker, "docker", "/etc/docker/daemon.json", "", "nvidia-container-runtime",
     "systemctl restart docker"},
    {Engine::kContainerd, "containerd", "/etc/containerd/config.toml",
     "/etc/containerd/conf.d/99-nvidia.toml", "/usr/bin/nvidia-container-runtime",
     "systemctl restart containerd"},
    {Engine::kPodman, "podman", "/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json", "",
     "/usr/bin/nvidia-container-runtime-hook", ""},
}};

base::Result<std::optional<std::string>> ReadIfThere(const std::string& path) {
  base::Result<std::string> text = base::ReadFile(path);
  if (text.ok()) return std::optional<std::string>(*std::move(text));
  if (text.error().code() == base::ErrorCode::kNotFound) return std::optional<std::string>();
  return std::move(text).error();
}

// Links in it stay: what containerd imports is what somebody named.
base::Result<void> MakeAbsolute(std::string& path) {
  if (path.starts_with('/')) return {};
  TRY(here, base::RealPath("."));
  path = base::JoinPath(here, path);
  return {};
}

base::Result<EnginePlan> PlanFrom(Engine engine,
                                  const ConfigureOrder& order,
                                  const std::optional<std::string>& config,
                                  const std::optional<std::string>& drop_in,
                                  const EngineMemory& memory) {
  switch (engine) {
    case Engine::kDocker: return PlanDocker(config, order, memory);
    case Engine::kContainerd: return PlanContainerd(config, drop_in, order, memory);
    case Engine::kPodman: return PlanPodman(config, order, memory);
  }
  return base::Error(base::ErrorCode::kInternal, "no such engine");
}

// An engine takes a name as well as a path, and looks only when a container is to start.
void NoteMissingProgram(Engine engine, const ConfigureOrder& order, EnginePlan& plan) {
  const std::string& path = order.runtime_path;
  const bool named = path.find('/') == std::string::npos;
  for (const char* folder : {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"}) {
    if (access((named ? base::JoinPath(folder, path) : path).c_str(), X_OK) == 0) return;
  }
  plan.notes.push_back(
      fmt::format("{} is not there, or cannot be executed: until it is, {}", path,
                  engine == Engine::kPodman
                      ? "no container of podman's starts with this hook file"
                      : fmt::format("no container of the runtime {} starts", order.runtime_name)));
}

void NoteMissingImports(const std::string& config, const ConfigureOrder& order, EnginePlan& plan) {
  for (const std::string& path : ContainerdImports(config, order)) {
    if (path == order.drop_in || base::Exists(path)) continue;
    plan.notes.push_back(
        fmt::format("{} imports {}, which is not there: containerd reads no import behind it, and "
                    "says nothing",
                    order.config, path));
  }
}

// What is remembered of a file that is now this.
base::Result<FileMemory> MemoryOf(const std::string& path,
                                  const std::optional<std::string>& now,
                                  const std::vector<WrittenFile>& written,
                                  bool undo) {
  TRY(real, base::RealPath(path));
  const WrittenFile* row = FindWritten(written, real);
  FileMemory memory;
  if (row == nullptr || !now) return memory;
  memory.written = true;
  memory.created = row->backup.empty();
  memory.untouched = base::Sha256Hex(*now) == row->sha256;
  memory.keys = row->keys;
  memory.copied = row->copied;
  if (!memory.created) {
    base::Result<std::string> original = base::ReadFile(row->backup);
    if (original.ok()) memory.original = *std::move(original);
  }
  // Undo brings bytes back only where they are there and nobody's edit lies between.
  const bool restorable = row->exact && (memory.created || memory.original);
  if (undo && !restorable) memory.untouched = false;
  return memory;
}

void RestoreUntouched(const std::string& path,
                      const std::optional<std::string>& now,
                      const FileMemory& memory,
                      EnginePlan& plan) {
  if (memory.written && memory.untouched && now != memory.original)
    plan.changes.push_back({path, now, memory.original});
}

base::Result<std::string> FreeBackupName(const std::string& path) {
  constexpr int kMost = 1000;
  for (int n = 1; n <= kMost; ++n) {
    std::string name = fmt::format("{}.bak-{}", path, n);
    if (!base::Exists(name)) return name;
  }
  return base::MakeError(base::ErrorCode::kConflict, "{} has {} backups already", path, kMost)
      .WithHint("remove the old ones");
}

// With the owner and the mode of the file.
base::Result<std::string> KeepCopy(const std::string& path, const std::string& bytes) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return base::ErrnoError(fmt::format("look at {}", path));
  TRY(name, FreeBackupName(path));
  TRY_VOID(base::WriteFileAtomically(name, bytes, about.st_mode & 0777));
  if (chown(name.c_str(), about.st_uid, about.st_gid) != 0 && errno != EPERM)
    return base::ErrnoError(fmt::format("give {} its owner", name));
  return name;
}

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

mode_t Umask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

// `real` is where the path leads: a link is written through, and stays when the file goes.
base::Result<void> PutFile(const std::string& path,
                           const std::string& real,
                           const std::optional<std::string>& bytes) {
  if (!bytes) {
    if (unlink(real.c_str()) != 0 && errno != ENOENT)
      return base::ErrnoError(fmt::format("remove {}", real));
    return {};
  }
  // A file that is replaced keeps its own mode.
  if (base::Exists(real)) return base::WriteFileAtomically(path, *bytes, 0777);
  TRY_VOID(base::MakeDirectories(ParentOf(real), 0755));
  return base::WriteFileAtomically(path, *bytes, 0644 & ~Umask());
}

base::Result<void> CheckUnchanged(const std::vector<FileChange>& changes) {
  for (const FileChange& change : changes) {
    TRY(now, ReadIfThere(change.path));
    if (now == change.before) continue;
    return base::MakeError(base::ErrorCode::kConflict, "{} was changed by somebody meanwhile",
                           change.path)
        .WithHint("run it again; nothing was written");
  }
  return {};
}

// The row of a file that is about to be written, and the copy that was made of what is there.
struct Kept {
  WrittenFile row;
  std::string copy{};  // empty: there is one that undo can use, or nothing to copy
};

base::Result<Kept> KeptFor(const FileChange& change, const WrittenFile* before) {
  Kept kept = {{change.path, base::Sha256Hex(*change.after)}};
  kept.row.keys = change.memory.keys;
  kept.row.copied = change.memory.copied;
  if (!change.before) return kept;
  if (before != nullptr) {
    kept.row.backup = before->backup;
    kept.row.exact = before->exact;
    if (base::Sha256Hex(*change.before) == before->sha256) return kept;
    // Somebody may have put the backup back by hand.
    const base::Result<std::string> copy = base::ReadFile(before->backup);
    kept.row.exact = copy.ok() && *copy == *change.before;
    if (kept.row.exact) return kept;
  }
  TRY(copy, KeepCopy(change.path, *change.before));
  if (before == nullptr) kept.row.backup = copy;
  kept.copy = std::move(copy);
  return kept;
}

// One carrying out, with what it takes to go back.
class Work {
 public:
  Work(const std::vector<FileChange>& changes, const std::string& state_directory, bool undo)
      : changes_(changes), state_directory_(state_directory), undo_(undo) {}

  base::Result<std::vector<Carried>> Do() {
    TRY(written, ReadWritten(state_directory_));
    before_ = written;
    base::Result<void> done = Prepare(written);
    if (done.ok()) done = Write();
    if (!done.ok()) {
      TakeBack();
      return std::move(done).error();
    }
    if (undo_) ForgetBackups();
    return std::move(carried_);
  }

 private:
  base::Result<void> Prepare(std::vector<WrittenFile> written) {
    for (const FileChange& change : changes_) {
      TRY(real, base::RealPath(change.path));
      real_.push_back(real);
      const WrittenFile* row = FindWritten(before_, real);
      TRY(kept, RowOrCopy(change, row));
      kept.row.path = real;
      std::erase_if(written, [&](const WrittenFile& each) { return each.path == real; });
      if (!undo_) written.push_back(kept.row);
      if (!kept.copy.empty()) made_.push_back(kept.copy);
      carried_.push_back({change, kept.copy.empty() && !undo_ ? kept.row.backup : kept.copy});
    }
    // Before the files: a crash between the two leaves rows that match no file, and undo goes by
    // edits then, which find nothing.
    return RememberWritten(state_directory_, written);
  }

  base::Result<Kept> RowOrCopy(const FileChange& change, const WrittenFile* row) const {
    if (!undo_) return KeptFor(change, row);
    Kept kept;
    const bool ours =
        row != nullptr && change.before && base::Sha256Hex(*change.before) == row->sha256;
    if ((ours && row->exact) || !change.before) return kept;
    TRY(copy, KeepCopy(change.path, *change.before));
    kept.copy = std::move(copy);
    return kept;
  }

  base::Result<void> Write() {
    for (; put_ < changes_.size(); ++put_)
      TRY_VOID(PutFile(changes_[put_].path, real_[put_], changes_[put_].after));
    return {};
  }

  void TakeBack() {
    for (std::size_t i = put_; i-- > 0;)
      (void)PutFile(changes_[i].path, real_[i], changes_[i].before);
    for (const std::string& backup : made_) unlink(backup.c_str());
    (void)RememberWritten(state_directory_, before_);
  }

  // The file is the backup again: a copy beside it would only ask what it is for.
  void ForgetBackups() {
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const WrittenFile* row = FindWritten(before_, real_[i]);
      if (row == nullptr || row->backup.empty() || !changes_[i].after) continue;
      const base::Result<std::string> copy = base::ReadFile(row->backup);
      if (copy.ok() && *copy == *changes_[i].after) unlink(row->backup.c_str());
    }
  }

  const std::vector<FileChange>& changes_;
  const std::string& state_directory_;
  bool undo_;
  std::vector<WrittenFile> before_;
  std::vector<std::string> real_;  // where the paths of the changes lead
  std::vector<std::string> made_;
  std::vector<Carried> carried_;
  std::size_t put_ = 0;
};

}  // namespace

const EngineRow& RowOf(Engine engine) {
  return *std::find_if(kEngines.begin(), kEngines.end(),
                       [&](const EngineRow& row) { return row.engine == engine; });
}

std::vector<std::string> EngineNames() {
  std::vector<std::string> names;
  names.reserve(kEngines.size());
  for (const EngineRow& row : kEngines) names.emplace_back(row.name);
  return names;
}

base::Result<Engine> ParseEngine(std::string_view name) {
  for (const EngineRow& row : kEngines) {
    if (row.name == name) return row.engine;
  }
  static constexpr std::array<std::string_view, 6> kLater = {"crio", "cri-o",    "k3s",
                                                             "rke2", "microk8s", "lxc"};
  if (std::find(kLater.begin(), kLater.end(), name) != kLater.end()) {
    return base::MakeError(base::ErrorCode::kUnsupported, "{} cannot be configured by this version",
                           name)
        .WithHint(fmt::format("there are: {}", base::Join(EngineNames(), ", ")));
  }
  return base::MakeError(base::ErrorCode::kInvalid, "no engine {}", base::Quoted(name))
      .WithHint(fmt::format("there are: {}", base::Join(EngineNames(), ", ")));
}

base::Result<EnginePlan> PlanEngine(Engine engine,
                                    const ConfigureOrder& asked,
                                    const std::string& state_directory) {
  ConfigureOrder order = asked;
  TRY_VOID(MakeAbsolute(order.config));
  if (!order.drop_in.empty()) TRY_VOID(MakeAbsolute(order.drop_in));
  TRY(config, ReadIfThere(order.config));
  std::optional<std::string> drop_in;
  if (!order.drop_in.empty()) {
    TRY(text, ReadIfThere(order.drop_in));
    drop_in = std::move(text);
  }
  TRY(written, ReadWritten(state_directory));
  EngineMemory memory;
  TRY(of_config, MemoryOf(order.config, config, written, order.undo));
  memory.config = std::move(of_config);
  if (!order.drop_in.empty()) {
    TRY(of_drop_in, MemoryOf(order.drop_in, drop_in, written, order.undo));
    memory.drop_in = std::move(of_drop_in);
  }
  TRY(plan, PlanFrom(engine, order, config, drop_in, memory));
  if (order.undo) {
    RestoreUntouched(order.config, config, memory.config, plan);
    RestoreUntouched(order.drop_in, drop_in, memory.drop_in, plan);
    return plan;
  }
  if (engine == Engine::kContainerd && config) NoteMissingImports(*config, order, plan);
  NoteMissingProgram(engine, order, plan);
  return plan;
}

base::Result<std::vector<Carried>> CarryOut(const std::vector<FileChange>& changes,
                                            const ConfigureOrder& order,
                                            const std::string& state_directory) {
  TRY_VOID(base::MakeDirectories(state_directory, 0700));
  TRY(lock, base::LockFile::Open(base::JoinPath(state_directory, "runtime.lock")));
  TRY(ours, lock.Try("partita runtime configure"));
  if (!ours) {
    return base::MakeError(base::ErrorCode::kBusy, "{} configures a runtime just now",
                           lock.Holder())
        .WithHint("wait for it to end");
  }
  TRY_VOID(CheckUnchanged(changes));
  return Work(changes, state_directory, order.undo).Do();
}

}  // namespace partita::service::toolkit
