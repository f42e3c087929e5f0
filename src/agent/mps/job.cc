#include "agent/mps/job.h"

#include <utility>

#include "hw/nvml/quiet_thread.h"

namespace partita::agent::mps {

Job::Job(net::Loop& loop) : loop_(loop) {}

Job::~Job() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

base::Result<void> Job::Start(Work work) {
  PARTITA_CHECK(!running_);
  // The one before has posted its end: it is at its last instruction.
  if (thread_.joinable()) thread_.join();
  stop_ = false;
  const std::weak_ptr<bool> alive = alive_;
  TRY(thread, hw::nvml::TryQuietThread("mps", [this, alive, &loop = loop_, work = std::move(work)] {
        net::Task end = work(stop_);
        loop.Post([this, alive, end = std::move(end)] {
          if (alive.expired()) return;
          running_ = false;
          end();
        });
      }));
  running_ = true;
  thread_ = std::move(thread);
  return {};
}

}  // namespace partita::agent::mps
