#include <array>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"
#include "config/document.h"
#include "config/problems.h"
#include "kube/access.h"
#include "kube/base64.h"

namespace partita::kube {
namespace {

using config::Node;
using config::Problems;

// What a kubeconfig may ask for and this client does not do. Passing over it would be asking the
// server as somebody else than was meant.
struct Refused {
  std::string_view key, why, hint;
};
constexpr std::array kRefusedOfUsers = {
    Refused{"exec", "programs that print credentials are not started",
            "give a token, a tokenFile or a client certificate (a service account's, for one)"},
    Refused{"auth-provider", "providers of credentials are not built in",
            "give a token, a tokenFile or a client certificate (a service account's, for one)"},
    Refused{"username", "the API server takes no passwords since Kubernetes 1.19",
            "give a token or a client certificate"},
    Refused{"password", "the API server takes no passwords since Kubernetes 1.19",
            "give a token or a client certificate"},
    Refused{"as", "acting as somebody else is not done", "use that account's own credentials"},
    Refused{"as-uid", "acting as somebody else is not done", "use that account's own credentials"},
    Refused{"as-groups", "acting as somebody else is not done",
            "use that account's own credentials"},
    Refused{"as-user-extra", "acting as somebody else is not done",
            "use that account's own credentials"},
};
constexpr std::array kRefusedOfClusters = {
    Refused{"proxy-url", "proxies are not gone through", "name a server that is reached directly"},
};

void Refuse(const Node& map, std::span<const Refused> all, Problems& problems) {
  for (const Refused& one : all) {
    const Node* key = map.FindKey(one.key);
    if (key != nullptr && !map.Find(one.key)->IsNull())
      problems.Add(*key, fmt::format("\"{}\" is refused: {}", one.key, one.why),
                   std::string(one.hint));
  }
}

// "" where it is absent; an empty text is as good.
std::string TextOf(const Node& map, std::string_view key, Problems& problems) {
  const Node* node = map.Find(key);
  if (node == nullptr || node->IsNull()) return "";
  return config::ReadString(*node, problems).value_or("");
}

const Node& NothingSaid() {
  static const Node map = [] {
    Node node;
    node.kind = config::NodeKind::kMap;
    return node;
  }();
  return map;
}

// The entry of a list of {name, KIND: {…}}; null with a problem at `wanted`, who names it.
const Node* Named(const Node& root,
                  std::string_view list,
                  std::string_view kind,
                  const Node& wanted,
                  Problems& problems) {
  const Node* all = root.Find(list);
  if (all != nullptr && all->IsList()) {
    for (const Node& item : all->items) {
      const Node* name = item.Find("name");
      if (name == nullptr || name->text != wanted.text) continue;
      const Node* entry = item.Find(kind);
      if (entry == nullptr || entry->IsNull()) return &NothingSaid();
      return config::ExpectMap(*entry, problems, fmt::format("a {}", kind)) ? entry : nullptr;
    }
  }
  problems.Add(wanted, fmt::format("there is no {} {}", kind, base::Quoted(wanted.text)),
               fmt::format("the names are below \"{}\"", list));
  return nullptr;
}

std::string Beside(const std::string& file_name, const std::string& path) {
  if (path.empty() || path.starts_with('/')) return path;
  const std::size_t slash = file_name.rfind('/');
  return slash == std::string::npos ? path : file_name.substr(0, slash + 1) + path;
}

// KEY-data, written out, comes before KEY, a file.
void ReadPem(const Node& map,
             std::string_view key,
             const std::string& file_name,
             Problems& problems,
             std::string& text,
             std::string& file) {
  const std::string inline_key = fmt::format("{}-data", key);
  const std::string encoded = TextOf(map, inline_key, problems);
  if (encoded.empty()) {
    file = Beside(file_name, TextOf(map, key, problems));
    return;
  }
  auto decoded = DecodeBase64(encoded);
  if (decoded)
    text = *std::move(decoded);
  else
    problems.Add(*map.Find(inline_key), fmt::format("\"{}\" is not base64", inline_key),
                 "the PEM file's bytes in base64 belong here");
}

void ReadCluster(const Node& cluster,
                 const std::string& file_name,
                 Problems& problems,
                 Access& access) {
  Refuse(cluster, kRefusedOfClusters, problems);
  if (const Node* url = config::Require(cluster, "server", problems)) {
    auto prefix = ReadServerUrl(config::ReadString(*url, problems).value_or(""), access.server);
    if (prefix.ok())
      access.path_prefix = *std::move(prefix);
    else
      problems.Add(*url, prefix.error().message(), prefix.error().hint());
  }
  ReadPem(cluster, "certificate-authority", file_name, problems, access.server.ca_pem,
          access.ca_file);
  access.server.server_name = TextOf(cluster, "tls-server-name", problems);
  if (const Node* insecure = cluster.Find("insecure-skip-tls-verify");
      insecure != nullptr && !insecure->IsNull())
    access.server.insecure_skip_verify = config::ReadBool(*insecure, problems).value_or(false);
}

void ReadUser(const Node& user, const std::string& file_name, Problems& problems, Access& access) {
  Refuse(user, kRefusedOfUsers, problems);
  ReadPem(user, "client-certificate", file_name, problems, access.server.client_cert_pem,
          access.client_cert_file);
  ReadPem(user, "client-key", file_name, problems, access.server.client_key_pem,
          access.client_key_file);
  access.token = TextOf(user, "token", problems);
  access.token_file = Beside(file_name, TextOf(user, "tokenFile", problems));
  if (!access.server.tls && !(access.token.empty() && access.token_file.empty())) {
    problems.Add(*user.FindKey(access.token.empty() ? "tokenFile" : "token"),
                 "a token for a server without TLS is refused: everybody on the way could use it",
                 "give the server as https://");
  }
}

// The context that is asked for, or else the current one; nothing with a problem.
std::optional<Node> Chosen(const Node& root, const std::string& context, Problems& problems) {
  if (!context.empty()) {
    Node named;
    named.kind = config::NodeKind::kScalar;
    named.text = context;
    return named;
  }
  const Node* current = config::Require(root, "current-context", problems);
  if (current == nullptr) return std::nullopt;
  if (!current->text.empty()) return *current;
  problems.Add(*current, "no context is chosen", "`kubectl config use-context NAME`");
  return std::nullopt;
}

void ReadContext(const Node& root,
                 const Node& context,
                 const std::string& file_name,
                 Problems& problems,
                 Access& access) {
  access.namespace_ = TextOf(context, "namespace", problems);
  if (access.namespace_.empty()) access.namespace_ = "default";
  const Node* cluster = config::Require(context, "cluster", problems);
  if (cluster != nullptr) cluster = Named(root, "clusters", "cluster", *cluster, problems);
  if (cluster != nullptr) ReadCluster(*cluster, file_name, problems, access);
  const Node* user = context.Find("user");
  if (user == nullptr || user->text.empty()) return;
  user = Named(root, "users", "user", *user, problems);
  if (user != nullptr) ReadUser(*user, file_name, problems, access);
}

}  // namespace

base::Result<Access> ReadKubeconfig(std::string text,
                                    const std::string& file_name,
                                    const std::string& context) {
  // What is wrong with it goes into the log and to /readyz, which anybody may ask.
  TRY(document, config::Document::Parse(std::move(text), file_name, config::Quoting::kNothing));
  const Node& root = document.root();
  Problems problems(document);
  Access access;
  std::optional<Node> chosen;
  if (config::ExpectMap(root, problems, "the kubeconfig")) chosen = Chosen(root, context, problems);
  if (chosen) {
    access.origin = fmt::format("context {} of {}", base::Quoted(chosen->text), file_name);
    if (const Node* entry = Named(root, "contexts", "context", *chosen, problems))
      ReadContext(root, *entry, file_name, problems, access);
  }
  TRY_VOID(problems.ToResult());
  return access;
}

}  // namespace partita::kube
