// Where the API server is, and who we are to it: from the pod's own files, or from a kubeconfig.
//
// As designed for issue 12, with the files' paths beside the token's, since certificates are
// exchanged too; kube/credentials.h reads them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/messages.h"

namespace partita::kube {

struct Access {
  net::HttpTarget server;   // with the certificates that are written out, not those in files
  std::string path_prefix;  // of every path, where the server is not at the root: "/k8s/c1"
  std::string token;        // written out; a file's, once read, comes before it
  // Read before use, and again when they change. Empty: none.
  std::string token_file, ca_file, client_cert_file, client_key_file;
  std::string namespace_;  // of the context, or of the pod; "default" where none is said
  std::string kubeconfig;  // where all this is written, and read again; empty: in the pod's files
  std::string origin;      // for messages: `context "admin" of /root/.kube/config`
  bool operator==(const Access&) const = default;
};

using Environment = std::function<std::optional<std::string>(const char* name)>;
[[nodiscard]] Environment ProcessEnvironment();

inline constexpr std::string_view kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// kNotFound: this is no pod.
[[nodiscard]] base::Result<Access> InCluster(
    const Environment& environment, const std::string& folder = std::string(kServiceAccountFolder));

// Relative paths in it are relative to the file's folder. An empty `context` is the current one.
// kInvalid, with every problem and its place: what cannot be read, and what is refused by name
// (exec, auth-provider, username, as…, proxy-url).
[[nodiscard]] base::Result<Access> ReadKubeconfig(std::string text,
                                                  const std::string& file_name,
                                                  const std::string& context = "");

// `kubeconfig` if given, else what $KUBECONFIG names, else the pod's own. A file that is read is
// named in the Access, for kube/credentials.h to follow.
[[nodiscard]] base::Result<Access> FindAccess(const std::string& kubeconfig,
                                              const Environment& environment);

// "https://host:6443/prefix" into host, port, tls; what is behind the host comes back without a
// slash at its end. kInvalid otherwise.
[[nodiscard]] base::Result<std::string> ReadServerUrl(std::string_view url,
                                                      net::HttpTarget& server);

}  // namespace partita::kube
