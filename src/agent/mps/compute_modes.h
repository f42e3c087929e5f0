// GPUs of MPS domains belong to one process, their server's; the mode that each had before is on
// disk before it is changed, and comes back when its domain ends, whoever was killed in between.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "model/inventory.h"
#include "service/mps/reconcile.h"

namespace partita::agent::mps {

// Everything here blocks. One thread at a time.
class ComputeModes {
 public:
  // The driver's calls.
  struct Calls {
    std::function<base::Result<model::ComputeMode>(const model::PciAddress& gpu)> read;
    std::function<base::Result<void>(const model::PciAddress& gpu, model::ComputeMode mode)> set;
  };

  // Where the daemons are that have these GPUs, so that whoever puts modes back without an agent
  // finds them.
  struct Home {
    std::string root;           // of their domains
    std::string pid_namespace;  // OurPidNamespace of their agent
    bool operator==(const Home&) const = default;
  };

  // `path`: of the file that remembers. No driver keeps a mode over a boot, and so neither does it.
  // Without a `home` it stays as the file says.
  ComputeModes(std::string path, std::string boot_id, Calls calls, Home home = {});

  // What an earlier agent left; an error leaves nothing known, and nothing may be changed.
  [[nodiscard]] base::Result<service::mps::ModesBefore> Load();

  // A GPU that is exclusive already is somebody else's, and stays so in the end.
  [[nodiscard]] base::Result<void> MakeExclusive(const std::string& uuid,
                                                 const model::PciAddress& gpu);
  // A GPU that is no longer exclusive was changed by somebody else, whose mode stays.
  [[nodiscard]] base::Result<void> Restore(const std::string& uuid);

  [[nodiscard]] service::mps::ModesBefore before() const;
  // Empty: that of an agent of an earlier version, or of none.
  [[nodiscard]] const Home& home() const { return home_; }

 private:
  struct Before {
    model::PciAddress gpu;
    model::ComputeMode mode = model::ComputeMode::kDefault;
  };
  [[nodiscard]] base::Result<void> Keep() const;

  std::string path_, boot_id_;
  Home home_;
  Calls calls_;
  std::map<std::string, Before> before_;  // by UUID
};

}  // namespace partita::agent::mps
