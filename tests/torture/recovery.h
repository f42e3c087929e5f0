// Recovery as it happens in production: the next process that uses the node takes the lock through
// ordinary calls. A fork server makes it cheap enough to do for every copy of the state.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "nvml_library.h"

namespace partita::torture {

// In the client: reads bytes from standard input until it ends. For each, a fork initialises NVML,
// lists the node, changes every GPU that has MIG on (creates a GPU and a compute instance and
// destroys them, or where nothing fits destroys one) and lists it again. Answers on standard output
// with a status, a length and the first listing, or what went wrong.
base::Result<int> ServeRecoveries(const Nvml& nvml);

// In the judge: the server and one question after the other.
class RecoveryServer {
 public:
  static base::Result<RecoveryServer> Start(const std::string& client, const std::string& library);
  RecoveryServer(RecoveryServer&& other) noexcept;
  RecoveryServer& operator=(RecoveryServer&&) = delete;
  RecoveryServer(const RecoveryServer&) = delete;
  RecoveryServer& operator=(const RecoveryServer&) = delete;
  ~RecoveryServer();

  // What the recovering process saw before it changed anything.
  base::Result<std::string> Recover();

 private:
  RecoveryServer(pid_t pid, int requests, int answers)
      : pid_(pid), requests_(requests), answers_(answers) {}
  pid_t pid_;
  int requests_, answers_;
};

}  // namespace partita::torture
