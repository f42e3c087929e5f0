#include "kube/access.h"

#include <utility>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"

namespace partita::kube {
namespace {

using base::ErrorCode;
using base::MakeError;

constexpr std::string_view kHost = "KUBERNETES_SERVICE_HOST", kPort = "KUBERNETES_SERVICE_PORT";

// What stands before an "@" or behind a "?" may be a secret.
base::Error BadUrl(std::string_view url, std::string_view why) {
  const bool plain = url.find_first_of("?#@") == std::string_view::npos;
  return MakeError(ErrorCode::kInvalid, "{} is no address of an API server: {}",
                   plain ? base::Quoted(url) : "this", why)
      .WithHint("write https://HOST:PORT");
}

}  // namespace

Environment ProcessEnvironment() { return base::ReadVariable; }

base::Result<std::string> ReadServerUrl(std::string_view url, net::HttpTarget& server) {
  std::string_view rest = url;
  if (const auto secure = base::WithoutPrefix(url, "https://")) {
    rest = *secure;
    server.tls = true;
  } else if (const auto plain = base::WithoutPrefix(url, "http://")) {
    rest = *plain;
    server.tls = false;
  } else {
    return BadUrl(url, "it begins neither with https:// nor with http://");
  }
  std::string_view place = rest.substr(0, rest.find('/')), prefix = rest.substr(place.size());
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (rest.find_first_of("?#@ ") != std::string_view::npos)
    return BadUrl(url, "nothing but a host, a port and a path may be in it");
  std::string_view port;
  if (place.starts_with('[')) {
    const std::size_t end = place.find(']');
    if (end == std::string_view::npos) return BadUrl(url, "\"]\" is missing");
    port = place.substr(end + 1);
    place = place.substr(1, end - 1);
    if (!net::IsAddress(place)) return BadUrl(url, "what is in brackets is no address");
  } else {
    const std::size_t colon = place.find(':');
    port = colon == std::string_view::npos ? "" : place.substr(colon);
    place = place.substr(0, colon);
  }
  if (place.empty()) return BadUrl(url, "the host is missing");
  server.host = place;
  server.port = server.tls ? 443 : 80;
  if (port.empty() || port == ":") return std::string(prefix);
  const auto number = port.starts_with(':') ? base::ParseUnsigned(port.substr(1)) : std::nullopt;
  if (!number || *number == 0 || *number > 65535) return BadUrl(url, "its port is no number");
  server.port = static_cast<std::uint16_t>(*number);
  return std::string(prefix);
}

base::Result<Access> InCluster(const Environment& environment, const std::string& folder) {
  const auto host = environment(kHost.data()), port = environment(kPort.data());
  const std::string token = base::JoinPath(folder, "token"), ca = base::JoinPath(folder, "ca.crt");
  if (!host || host->empty() || !base::Exists(token)) {
    return MakeError(ErrorCode::kNotFound, "this is no pod with a service account: {}",
                     !host || host->empty() ? fmt::format("{} is not set", kHost)
                                            : token + " is not there")
        .WithHint("outside of a cluster, name a kubeconfig (--kubeconfig or KUBECONFIG)");
  }
  const auto number = base::ParseUnsigned(port.value_or("443"));
  if (!number || *number == 0 || *number > 65535) {
    return MakeError(ErrorCode::kInvalid, "{} is {}, which is no port", kPort,
                     base::Quoted(port.value_or("")));
  }
  Access access;
  access.server.host = *host;
  access.server.port = static_cast<std::uint16_t>(*number);
  access.token_file = token;
  access.ca_file = ca;
  const auto space = base::ReadRegularFile(base::JoinPath(folder, "namespace"), 4096);
  access.namespace_ = space.ok() ? std::string(base::Trim(*space)) : "";
  if (access.namespace_.empty()) access.namespace_ = "default";
  access.origin = "the pod's service account";
  return access;
}

base::Result<Access> FindAccess(const std::string& kubeconfig, const Environment& environment) {
  std::string path = kubeconfig;
  if (path.empty()) path = environment("KUBECONFIG").value_or("");
  if (path.empty()) return InCluster(environment);
  if (kubeconfig.empty() && path.find(':') != std::string::npos) {
    return MakeError(ErrorCode::kUnsupported, "KUBECONFIG names several files: {}",
                     base::Quoted(path))
        .WithHint("`kubectl config view --flatten > FILE` makes one of them");
  }
  TRY(text, base::ReadRegularFile(path));
  TRY(access, ReadKubeconfig(std::move(text), path));
  access.kubeconfig = path;
  return access;
}

}  // namespace partita::kube
