// One user's server: takes the clients that the daemon hands on, and answers the daemon.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "sim/cuda/mps_wire.h"
#include "sim/mps/clients.h"
#include "sim/mps/log.h"
#include "sim/mps/settings.h"
#include "sim/state/store.h"

namespace partita::sim::mps {

inline constexpr char kLinkVariable[] = "PARTITA_SIM_MPS_LINK";          // a descriptor's number
inline constexpr char kSettingsVariable[] = "PARTITA_SIM_MPS_SETTINGS";  // Settings::Encoded

class Server {
 public:
  Server(base::UniqueFd link, Settings settings, const std::string& pipe_directory);

  // False: there is no device for a server; the log says why.
  bool Start();
  // Until the daemon tells it to go, or is gone.
  void Run();

 private:
  struct Use {
    std::uint32_t holder = 0;
    bool held = false;
  };

  void Say(const std::string& text);
  bool MakeContexts();
  void DestroyContexts();
  void HearDaemon();
  void Take(const NewClient& request, int fd);
  std::int32_t Admit(const Connection& client);
  void Answer(int fd, std::int32_t code);
  void HearClient(int fd);
  void Drop(int fd);
  void Fault(const Connection& origin);
  std::string Obey(const std::string& request);
  std::string ObeyLimit(const std::vector<std::string>& words);
  std::string Terminate(std::uint32_t pid);
  std::string FaultOf(std::uint32_t pid);
  std::string DeviceList() const;
  [[nodiscard]] std::uint32_t OrdinalOf(const cuda::DeviceRef& device) const;
  [[nodiscard]] std::string NameOf(std::uint32_t ordinal) const;
  [[nodiscard]] std::string UuidOf(std::uint32_t ordinal) const;

  base::UniqueFd link_;
  Settings settings_;
  PipeLog log_;
  std::uint32_t pid_;
  bool leaving_ = false;
  bool fault_ = false;
  Store store_;
  int holders_ = -1;
  cuda::DeviceList devices_{};
  std::vector<Use> uses_;
  std::vector<std::uint64_t> limits_;  // by ordinal; 0: none
  Clients clients_;
  Connection last_;  // of the request before, whose name the log gives to the next
};

}  // namespace partita::sim::mps
