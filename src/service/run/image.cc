#include "service/run/image.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::service::run {

namespace {

using base::ErrnoError;
using base::ErrorCode;
using base::MakeError;
using base::Result;
using base::RootDir;

Result<std::string> WithoutLinks(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real == nullptr) return ErrnoError("image " + base::Quoted(path)).As(ErrorCode::kInvalid);
  return std::string(real.get());
}

bool IsDirectory(const std::string& path) {
  struct stat about = {};
  return lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

// As the container's kernel looks for it. Absent: kNotFound, or what else keeps it from being seen.
Result<void> CheckProgram(const RootDir& root, const std::string& path) {
  TRY(file, root.OpenAt(path, O_PATH));
  struct stat about = {};
  if (fstat(file.get(), &about) != 0) return ErrnoError("look at " + path);
  constexpr mode_t kExecute = S_IXUSR | S_IXGRP | S_IXOTH;
  if (S_ISREG(about.st_mode) && (about.st_mode & kExecute) != 0) return {};
  return MakeError(ErrorCode::kDenied, "{} in the image is not a program", path);
}

// Where runc makes links and files by path before the container's root is its root: a link would
// have them made on this machine (seen with runc 1.1.5 and /dev).
Result<void> CheckMountPoints(const RootDir& root) {
  for (const char* name : {"/dev", "/proc", "/sys"}) {
    const Result<base::FileFacts> facts = root.Look(name);
    if (!facts.ok() && facts.error().code() == ErrorCode::kNotFound) continue;
    if (!facts.ok()) return facts.error();
    if (facts->IsDirectory()) continue;
    return MakeError(ErrorCode::kInvalid, "image {}: {} in it is {}", base::Quoted(root.name()),
                     name, facts->IsLink() ? "a link" : "no directory")
        .WithHint("runc would follow it: make it an empty directory");
  }
  return {};
}

}  // namespace

Result<Image> OpenImage(const std::string& directory) {
  TRY(path, WithoutLinks(directory));
  if (IsDirectory(path + "/rootfs")) path = base::JoinPath(path, "rootfs");
  if (!IsDirectory(path))
    return MakeError(ErrorCode::kInvalid, "image {}: not a directory", base::Quoted(path));
  if (path == "/")
    return MakeError(ErrorCode::kInvalid, "image \"/\": that is this machine's own root")
        .WithHint("without --image the program runs on it");
  TRY(root, RootDir::Open(path));
  TRY(names, root.List("/"));
  if (names.empty()) {
    return MakeError(ErrorCode::kInvalid, "image {}: there is no root file system in it",
                     base::Quoted(path))
        .WithHint("fill it, for example: docker export CONTAINER | tar -x -C DIR");
  }
  TRY_VOID(CheckMountPoints(root));
  return Image{std::move(path), std::move(root)};
}

Result<void> CheckCommand(const RootDir& root,
                          const std::string& command,
                          std::span<const std::string> added) {
  std::vector<std::string> paths;
  if (command.find('/') != std::string::npos) {
    paths.push_back(base::JoinPath("/", command));
  } else {
    for (const std::string_view directory : base::Split(kImagePath, ':'))
      paths.push_back(base::JoinPath(directory, command));
  }
  base::Error why =
      MakeError(ErrorCode::kNotFound, "there is no {} in the image", base::Quoted(command));
  for (const std::string& path : paths) {
    if (std::find(added.begin(), added.end(), path) != added.end()) return {};
    Result<void> checked = CheckProgram(root, path);
    if (checked.ok()) return {};
    if (checked.error().code() == ErrorCode::kDenied) why = std::move(checked).error();
  }
  return why;
}

}  // namespace partita::service::run
