// nvidia-cuda-mps-server: started by the daemon, with a socket to it. By hand it ends at once.

#include <csignal>
#include <cstdlib>

#include "sim/cuda/mps_wire.h"
#include "sim/mps/server.h"

int main() {
  namespace mps = partita::sim::mps;
  const char* link = std::getenv(mps::kLinkVariable);
  const char* settings = std::getenv(mps::kSettingsVariable);
  if (link == nullptr || settings == nullptr) return 0;
  std::signal(SIGPIPE, SIG_IGN);
  mps::Server server(partita::base::UniqueFd(std::atoi(link)), mps::Settings::Decoded(settings),
                     mps::PipeDirectory());
  if (!server.Start()) return 1;
  server.Run();
  return 0;
}
