// Questions to the API server, one after the other, each waited for.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/value.h"
#include "kube/client.h"
#include "net/loop.h"

namespace partita::cli {

class Asking {
 public:
  // `name` is what the server's log calls us, before the version.
  Asking(kube::Access access, const std::string& name);

  // Half a minute at most.
  [[nodiscard]] base::Result<base::Value> Ask(
      const std::function<void(kube::Client&, kube::Client::Answer)>& ask);
  [[nodiscard]] base::Result<base::Value> Get(const std::string& path);

 private:
  std::unique_ptr<net::Loop> loop_ = net::NewLoop();
  std::unique_ptr<kube::Client> client_;
};

}  // namespace partita::cli
