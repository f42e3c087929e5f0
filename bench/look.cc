// What the agent's looks at a node cost, each so many times; one line each: what, and nanoseconds.
//
//   bench-look RUNS ROOT DRIVER_ROOT SCRATCH [CALLS]
//
// ROOT is a simulated node's folder, DRIVER_ROOT the one above its library. With CALLS, the file
// that PARTITA_SIM_CALLS names, the number of driver calls follows each.
//
// "full": everything, as `status` reads it. "rest": the agent's look when nothing happened.
// "change": the one after a change of MIG. "event": from an XID in the driver to the snapshot that
// follows it.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "agent/node.h"
#include "base/log.h"
#include "hw/nvml/gpu_look.h"
#include "net/loop.h"
#include "sim/state/life.h"
#include "sim/state/store.h"

namespace {

using Clock = std::chrono::steady_clock;
using partita::hw::nvml::Part;
using partita::hw::nvml::Parts;
using partita::service::inventory::SnapshotPtr;

std::size_t CountLines(const std::string& path) {
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

class Bench {
 public:
  Bench(int runs, const partita::agent::NodeOptions& options, std::string calls)
      : runs_(runs), calls_(std::move(calls)), options_(options) {
    const std::string state = options.root + "/sim/state";
    open_ =
        partita::sim::Store::Open(state.c_str(), partita::sim::Access::kReadWrite, &store_) == 0;
  }

  bool Run() {
    if (!open_) return false;
    node_.Start(options_, [this] { Begun(); });
    loop_->Run();
    return heard_ == runs_;
  }

 private:
  // Events are waited for by now, or soon; the timed ones come last.
  void Begun() {
    Repeat("full", Parts::All(), runs_, [this] {
      Repeat("rest", {Part::kModes}, runs_, [this] {
        Repeat("change", {Part::kModes, Part::kInstances}, runs_, [this] { Listen(); });
      });
    });
  }

  void Repeat(const char* what, Parts parts, int left, std::function<void()> then) {
    if (left == 0) return then();
    const std::size_t calls = calls_.empty() ? 0 : CountLines(calls_);
    const auto start = Clock::now();
    node_.live().Look(parts, [=, this, then = std::move(then)](const SnapshotPtr&) {
      Print(what, Clock::now() - start, calls);
      loop_->Post([=, this] { Repeat(what, parts, left - 1, then); });
    });
  }

  void Print(const char* what, std::chrono::nanoseconds took, std::size_t calls) {
    std::printf("%s %lld", what, static_cast<long long>(took.count()));
    if (!calls_.empty()) std::printf(" %zu", CountLines(calls_) - calls);
    std::printf("\n");
  }

  void Listen() {
    subscription_ = node_.live().Subscribe(
        [this](const SnapshotPtr& snapshot, const auto&) { Published(*snapshot); });
    timer_->Every(std::chrono::milliseconds(50), [this] { Happen(); });
  }

  // An XID, and a temperature nobody had before, so that there is something to publish.
  void Happen() {
    waiting_ = ++temperature_;
    calls_before_ = calls_.empty() ? 0 : CountLines(calls_);
    partita::sim::Transaction transaction;
    if (partita::sim::Transaction::Begin(store_, &transaction) != 0) return loop_->Stop();
    transaction.slot().gpus[0].temperature = {1, temperature_};
    partita::sim::AddXid(transaction.slot(), 0, 31);
    happened_ = Clock::now();
    (void)transaction.Commit();
  }

  void Published(const partita::service::inventory::Snapshot& snapshot) {
    const auto& temperature = snapshot.inventory.gpus.front().readings.temperature;
    if (!temperature || static_cast<unsigned>(temperature->value()) != waiting_) return;
    waiting_ = 0;
    Print("event", Clock::now() - happened_, calls_before_);
    if (++heard_ == runs_) node_.Stop([this] { loop_->Stop(); });
  }

  const int runs_;
  const std::string calls_;
  const partita::agent::NodeOptions options_;
  partita::sim::Store store_;
  bool open_ = false;
  const std::unique_ptr<partita::net::Loop> loop_ = partita::net::NewLoop();
  partita::base::Log log_{loop_->clock(), [](std::string_view) {}};
  partita::agent::Node node_{*loop_, log_};
  const std::unique_ptr<partita::net::Timer> timer_ = loop_->NewTimer("happen");
  std::shared_ptr<void> subscription_;
  std::uint32_t temperature_ = 100;
  std::uint32_t waiting_ = 0;  // for this temperature; 0: for none
  std::size_t calls_before_ = 0;
  Clock::time_point happened_;
  int heard_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: bench-look RUNS ROOT DRIVER_ROOT SCRATCH [CALLS]\n");
    return 2;
  }
  partita::agent::NodeOptions options;
  options.root = argv[2];
  options.driver_root = argv[3];
  options.state_directory = argv[4];
  setenv("PARTITA_SIM_STATE", (options.root + "/sim/state").c_str(), 1);
  // This process has its own /dev, not the node's.
  setenv("PARTITA_SIM_VISIBILITY", "off", 1);
  if (argc > 5) setenv("PARTITA_SIM_CALLS", argv[5], 1);
  Bench bench(std::atoi(argv[1]), options, argc > 5 ? argv[5] : "");
  return bench.Run() ? 0 : 1;
}
