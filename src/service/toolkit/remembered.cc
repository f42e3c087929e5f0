#include "service/toolkit/remembered.h"

#include <algorithm>

#include "base/files.h"
#include "base/json.h"
#include "base/state_file.h"
#include "base/value.h"

namespace partita::service::toolkit {
namespace {

using base::Value;

base::StateFile FileIn(const std::string& directory) {
  return {base::JoinPath(directory, "runtime.json"), "runtime", 1};
}

const std::string* Text(const Value& row, std::string_view key) {
  const Value* value = row.Find(key);
  return value != nullptr && value->kind() == Value::Kind::kString ? &value->AsString() : nullptr;
}

}  // namespace

base::Result<std::vector<WrittenFile>> ReadWritten(const std::string& state_directory) {
  const base::StateFile file = FileIn(state_directory);
  TRY(state, base::ReadState(file));
  std::vector<WrittenFile> files;
  if (!state.payload) return files;
  TRY(document, base::ParseJson(*state.payload), "{}", file.path);
  const Value* rows = document.Find("files");
  if (rows == nullptr || rows->kind() != Value::Kind::kList) return files;
  for (const Value& row : rows->items()) {
    const std::string *path = Text(row, "path"), *sha256 = Text(row, "sha256"),
                      *backup = Text(row, "backup");
    const Value* exact = row.Find("exact");
    if (path == nullptr || sha256 == nullptr || backup == nullptr) continue;
    files.push_back({*path, *sha256, *backup, exact != nullptr && *exact == Value(true)});
  }
  return files;
}

base::Result<void> RememberWritten(const std::string& state_directory,
                                   const std::vector<WrittenFile>& files) {
  Value rows = Value::List();
  for (const WrittenFile& file : files) {
    rows.Add(Value::Map()
                 .Set("path", file.path)
                 .Set("sha256", file.sha256)
                 .Set("backup", file.backup)
                 .Set("exact", file.exact));
  }
  Value document = Value::Map();
  document.Set("files", std::move(rows));
  return base::WriteState(FileIn(state_directory), base::ToJson(document));
}

const WrittenFile* FindWritten(const std::vector<WrittenFile>& files, const std::string& path) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const WrittenFile& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

}  // namespace partita::service::toolkit
