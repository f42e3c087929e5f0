#include "kube/credentials.h"

#include <sys/stat.h>

#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace partita::kube {
namespace {

constexpr std::size_t kMostCredential = std::size_t{1} << 20;

}  // namespace

bool Credentials::Stamp::operator==(const Stamp& other) const {
  return device == other.device && inode == other.inode && size == other.size &&
         changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
}

Credentials::Credentials(Access access)
    : access_(std::move(access)), server_(access_.server), token_(access_.token) {
  files_[0] = {access_.ca_file, &server_.ca_pem, {}};
  files_[1] = {access_.client_cert_file, &server_.client_cert_pem, {}};
  files_[2] = {access_.client_key_file, &server_.client_key_pem, {}};
  files_[3] = {access_.token_file, &token_text_, {}};
}

// Of what a link leads to: in a pod the file is a link through "..data", which is exchanged.
std::optional<Credentials::Stamp> Credentials::StampOf(const std::string& path) {
  struct stat there {};
  if (stat(path.c_str(), &there) != 0) return std::nullopt;
  return Stamp{there.st_dev, there.st_ino, there.st_size, there.st_mtim};
}

base::Result<void> Credentials::Refresh(File& file) {
  if (file.path.empty()) return {};
  const std::optional<Stamp> stamp = StampOf(file.path);
  if (stamp && stamp == file.read) return {};
  auto text = base::ReadRegularFile(file.path, kMostCredential);
  if (text.ok() && !base::Trim(*text).empty()) {
    *file.text = *std::move(text);
    file.read = stamp;
    return {};
  }
  if (file.read) return {};
  if (!text.ok()) return std::move(text).error();
  return base::MakeError(base::ErrorCode::kInvalid, "{} is empty", file.path);
}

// One that is away or makes no sense, as while it is being written, is looked at again next time.
base::Result<void> Credentials::RefreshKubeconfig() {
  const std::string path = access_.kubeconfig;
  const std::optional<Stamp> stamp = StampOf(path);
  if (stamp && stamp == kubeconfig_read_) return {};
  TRY(text, base::ReadRegularFile(path));
  TRY(written, ReadKubeconfig(std::move(text), path));
  // Watches go on from a version of this server's objects, and its Node is known: another one is
  // begun with, not gone over to.
  if (net::Authority(written.server) != net::Authority(access_.server) ||
      written.server.tls != access_.server.tls || written.path_prefix != access_.path_prefix)
    return base::MakeError(base::ErrorCode::kUnsupported, "{} names another server, {}", path,
                           net::Authority(written.server))
        .WithHint("restart for that");
  Credentials next(std::move(written));
  TRY_VOID(next.Refresh());
  access_ = std::move(next.access_);
  access_.kubeconfig = path;
  server_ = std::move(next.server_);
  token_ = std::move(next.token_);
  token_text_ = std::move(next.token_text_);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    files_.at(i).path = next.files_.at(i).path;
    files_.at(i).read = next.files_.at(i).read;
  }
  kubeconfig_read_ = stamp;
  return {};
}

base::Result<void> Credentials::Refresh() {
  if (!access_.kubeconfig.empty()) {
    const base::Result<void> followed = RefreshKubeconfig();
    unused_ = followed.ok() ? std::nullopt : std::optional(followed.error());
  }
  for (File& file : files_) TRY_VOID(Refresh(file), "credentials of {}", access_.origin);
  if (!token_text_.empty()) token_ = base::Trim(token_text_);
  return {};
}

bool Credentials::ReadAgain() {
  const std::string token = token_;
  const net::HttpTarget server = server_;
  kubeconfig_read_.reset();
  for (File& file : files_) {
    // What was read stays known as read: it may be gone by now.
    if (file.read) file.read = Stamp{};
  }
  return Refresh().ok() && (token_ != token || server_ != server);
}

}  // namespace partita::kube
