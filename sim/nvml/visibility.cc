// What a process may open decides what it sees.

#include <time.h>
#include <unistd.h>

#include "sim/nvml/api.h"
#include "sim/nvml/session.h"
#include "sim/state/access.h"
#include "sim/state/files.h"

namespace partita::sim::nvml {
namespace {

// File systems stamp changes with a clock of a few milliseconds (10 at most): a directory that
// changed just now may change again under the same stamp.
constexpr uint64_t kSettledNs = 20000000;

uint64_t Mixed(uint64_t seed, uint64_t value) {
  // FNV-1a over words, with the high bits folded down.
  seed = (seed ^ value) * 0x100000001B3;
  return seed ^ seed >> 29;
}

uint64_t WallClock() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// Opening the nodes of every slice in every call made up most of the time of an enumeration, so
// what was granted is remembered until the state, the folder of the nodes, the user or the
// initialisation is another. A client that is refused is asked about again each time.
uint64_t CurrentView() {
  FileIdentity folder{};
  if (IdentifyPath(kCapabilityNodes, &folder) != 0) return 0;
  const uint64_t now = WallClock();
  if (folder.changed_ns > now || now - folder.changed_ns < kSettledNs) return 0;
  const uint64_t parts[] = {__atomic_load_n(&TheSession().epoch, __ATOMIC_RELAXED),
                            TheStore().generation(),
                            folder.device,
                            folder.inode,
                            folder.changed_ns,
                            static_cast<uint64_t>(geteuid())};
  uint64_t view = 0xCBF29CE484222325;
  for (const uint64_t part : parts) {
    view = Mixed(view, part);
  }
  return view;
}

}  // namespace

MigVisibility::MigVisibility() : view_(TheSession().visibility != 0 ? CurrentView() : 0) {}

bool MigVisibility::Sees(uint32_t gpu, uint32_t gpu_instance, uint32_t compute_instance) const {
  Session& session = TheSession();
  if (session.visibility == 0) return true;
  uint64_t* seen_in = &session.mig_seen_in[gpu][gpu_instance][compute_instance];
  if (view_ != 0 && __atomic_load_n(seen_in, __ATOMIC_RELAXED) == view_) return true;
  if (!MayOpenMigDevice(TheMachine(), gpu, gpu_instance, compute_instance)) return false;
  __atomic_store_n(seen_in, view_, __ATOMIC_RELAXED);
  return true;
}

}  // namespace partita::sim::nvml
