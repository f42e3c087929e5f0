// Somebody wrote, replaced, made or removed a file: told on the loop, once for changes that
// follow each other closely.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "hw/watch/paths.h"
#include "net/loop.h"

namespace partita::agent {

// Watches the directory that the file is in, so that it does not matter how it is replaced: written
// in place, renamed over, or by the link that Kubernetes turns in a mounted ConfigMap. Changes of
// other files there are told too: look at the file itself. Loop's thread only.
class FileWatch {
 public:
  // Watch and timer are counted as `name` and `name`-settles.
  FileWatch(net::Loop& loop, std::string name);

  // `changed` is called until Stop. An error: nothing is watched.
  [[nodiscard]] base::Result<void> Start(const std::string& path, net::Task changed);
  void Stop();

 private:
  net::Loop& loop_;
  std::string name_;
  net::Task changed_;
  std::optional<hw::watch::Paths> paths_;
  std::unique_ptr<net::Watch> watch_;
  std::unique_ptr<net::Timer> settles_;
};

}  // namespace partita::agent
