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

std::string TextOr(const Value& row, std::string_view key) {
  const std::string* text = Text(row, key);
  return text == nullptr ? "" : *text;
}

Value ListOf(const KeyPath& path) {
  Value list = Value::List();
  for (const std::string& part : path) list.Add(part);
  return list;
}

KeyPath PathIn(const Value& row, std::string_view key) {
  KeyPath path;
  const Value* list = row.Find(key);
  if (list == nullptr || list->kind() != Value::Kind::kList) return path;
  for (const Value& part : list->items()) {
    if (part.kind() == Value::Kind::kString) path.push_back(part.AsString());
  }
  return path;
}

// `there` as the parts themselves: a number would need a bound.
Value DocumentOf(const KeptKey& key) {
  Value row = Value::Map();
  row.Set("path", ListOf(key.path))
      .Set("there",
           ListOf({key.path.begin(), key.path.begin() + static_cast<std::ptrdiff_t>(key.there)}))
      .Set("mark", ListOf(key.mark))
      .Set("written", key.written)
      .Set("item", key.item)
      .Set("needed", key.needed);
  if (key.before) row.Set("before", *key.before);
  return row;
}

std::vector<KeptKey> KeysIn(const Value& file) {
  std::vector<KeptKey> keys;
  const Value* rows = file.Find("keys");
  if (rows == nullptr || rows->kind() != Value::Kind::kList) return keys;
  for (const Value& row : rows->items()) {
    KeptKey key = {.path = PathIn(row, "path"), .mark = PathIn(row, "mark")};
    if (key.path.empty()) continue;
    if (const std::string* before = Text(row, "before")) key.before = *before;
    key.there = std::min(PathIn(row, "there").size(), key.path.size());
    key.written = TextOr(row, "written");
    key.item = TextOr(row, "item");
    const Value* needed = row.Find("needed");
    key.needed = needed != nullptr && *needed == Value(true);
    keys.push_back(std::move(key));
  }
  return keys;
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
    files.push_back({*path, *sha256, *backup, exact != nullptr && *exact == Value(true),
                     KeysIn(row), TextOr(row, "copied")});
  }
  return files;
}

base::Result<void> RememberWritten(const std::string& state_directory,
                                   const std::vector<WrittenFile>& files) {
  Value rows = Value::List();
  for (const WrittenFile& file : files) {
    Value keys = Value::List();
    for (const KeptKey& key : file.keys) keys.Add(DocumentOf(key));
    rows.Add(Value::Map()
                 .Set("path", file.path)
                 .Set("sha256", file.sha256)
                 .Set("backup", file.backup)
                 .Set("exact", file.exact)
                 .Set("keys", std::move(keys))
                 .Set("copied", file.copied));
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
