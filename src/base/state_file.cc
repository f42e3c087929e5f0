#include "base/state_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"

namespace partita::base {

namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;

std::string Header(const StateFile& file, std::string_view payload) {
  return fmt::format("partita-{} {} sha256={} len={}\n", file.name, file.version,
                     Sha256Hex(payload), payload.size());
}

// The payload; nothing when the bytes are not what was written.
Result<std::optional<std::string>> Decode(const StateFile& file, const std::string& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return std::optional<std::string>();
  const std::vector<std::string_view> words = SplitWords(std::string_view(text).substr(0, end));
  if (words.size() != 4 || words[0] != "partita-" + file.name) return std::optional<std::string>();
  const std::optional<std::uint64_t> version = ParseUnsigned(words[1]);
  std::string payload = text.substr(end + 1);
  if (!version || words[2] != "sha256=" + Sha256Hex(payload) ||
      words[3] != fmt::format("len={}", payload.size())) {
    return std::optional<std::string>();
  }
  if (*version != static_cast<std::uint64_t>(file.version)) {
    return MakeError(ErrorCode::kUnsupported, "{} has version {}, and this program knows {}",
                     file.path, *version, file.version)
        .WithHint("it was written by another version of partita; move it away to begin anew");
  }
  return std::optional<std::string>(std::move(payload));
}

Result<std::optional<std::string>> ReadIfThere(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (text.ok()) return std::optional<std::string>(*std::move(text));
  if (text.error().code() == ErrorCode::kNotFound) return std::optional<std::string>();
  return std::move(text).error();
}

Result<void> Move(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    return ErrnoError(fmt::format("rename {} to {}", from, to));
  }
  return {};
}

}  // namespace

std::string StateDirectory() {
  const char* directory = std::getenv("PARTITA_STATE_DIR");
  return directory != nullptr && *directory != '\0' ? directory : "/var/lib/partita";
}

std::string RunDirectory() {
  const char* directory = std::getenv("PARTITA_RUN_DIR");
  return directory != nullptr && *directory != '\0' ? directory : "/run/partita";
}

Result<StateRead> ReadState(const StateFile& file) {
  TRY(text, ReadIfThere(file.path));
  if (!text) return StateRead{};
  StateRead read;
  TRY(payload, Decode(file, *text));
  if (payload) return StateRead{std::move(payload), ""};
  const std::string aside = file.path + ".damaged";
  read.warning = fmt::format("{} was damaged and is now {}", file.path, aside);
  TRY(before, ReadIfThere(file.path + ".bak"));
  if (before) {
    TRY(good, Decode(file, *before));
    read.payload = std::move(good);
  }
  if (!read.payload) {
    TRY_VOID(Move(file.path, aside));
    return read;
  }
  // In this order there is a file at every moment: without one all would be forgotten.
  TRY_VOID(WriteFileAtomically(aside, *text, kFileMode));
  TRY_VOID(WriteFileAtomically(file.path, *before, kFileMode));
  return read;
}

Result<std::optional<std::string>> PeekState(const StateFile& file) {
  for (const std::string& path : {file.path, file.path + ".bak"}) {
    TRY(text, ReadIfThere(path));
    if (!text) break;
    TRY(payload, Decode(file, *text));
    if (payload) return payload;
  }
  return std::optional<std::string>();
}

Result<void> WriteState(const StateFile& file, std::string_view payload) {
  const std::size_t slash = file.path.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    TRY_VOID(MakeDirectories(file.path.substr(0, slash), kDirectoryMode));
  }
  TRY(before, ReadIfThere(file.path));
  // What was forgotten must not come back when this one is damaged.
  if (!before) TRY_VOID(RemoveTree(file.path + ".bak"));
  if (before) {
    TRY(good, Decode(file, *before));
    if (good && *good == payload) return {};
    // Only what is whole is worth keeping.
    if (good) TRY_VOID(WriteFileAtomically(file.path + ".bak", *before, kFileMode));
  }
  return WriteFileAtomically(file.path, Header(file, payload) + std::string(payload), kFileMode);
}

}  // namespace partita::base
