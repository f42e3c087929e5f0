// Any text as a kubeconfig: what is understood names a server, and nothing that is refused by name
// passes.
#include <string>

#include "fuzz/target.h"
#include "kube/access.h"

FUZZ_TARGET(kubeconfig) {
  using namespace partita;
  const std::string text(fuzz::AsText(data, size));
  const auto access = kube::ReadKubeconfig(text, "/fuzz/config");
  if (!access.ok()) {
    PARTITA_CHECK(!access.error().ToString().empty());
    return 0;
  }
  PARTITA_CHECK(!access->server.host.empty() && access->server.port != 0);
  PARTITA_CHECK(!access->namespace_.empty());
  PARTITA_CHECK(access->server.tls || (access->token.empty() && access->token_file.empty()));
  PARTITA_CHECK(access->token_file.empty() || access->token_file.starts_with('/'));
  return 0;
}
