#include "soak_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "rendered.h"

namespace partita::torture {
namespace {

using base::Result;
using std::chrono::steady_clock;

// Far longer than any operation: what takes this long waits for a lock that nobody will release.
constexpr auto kStuck = std::chrono::seconds(60);

std::uint64_t CountInstances(const sim::Machine& machine, const sim::Slot& slot, bool compute) {
  std::uint64_t count = 0;
  for (std::uint32_t gpu = 0; gpu < machine.gpu_count; ++gpu) {
    for (const sim::GpuInstance& instance : slot.gpus[gpu].instances) {
      if (instance.live == 0) continue;
      if (!compute) ++count;
      for (const sim::ComputeInstance& part : instance.compute) {
        if (compute && part.live != 0) ++count;
      }
    }
  }
  return count;
}

std::uint64_t CountHolders(const sim::Slot& slot) {
  return static_cast<std::uint64_t>(
      std::count_if(std::begin(slot.holders), std::end(slot.holders),
                    [](const sim::Holder& holder) { return holder.live != 0; }));
}

}  // namespace

Soak::Soak(const SoakOptions& options,
           const ScratchNode& node,
           const StateView& view,
           Ledger* ledger)
    : options_(options),
      node_(node),
      view_(view),
      ledger_(*ledger),
      random_(options.seed),
      next_worker_seed_(options.seed * 1000003),
      reference_(ReadTree(node.root(), kDriverTrees)),
      first_generation_(view.file().header.generation),
      first_incarnation_(view.Take()->slot.next_incarnation),
      cells_(options.cells,
             options.workers,
             [this](std::uint32_t worker) {
               return RunWorker({node_.library(), node_.tool(), ScratchNode::kName,
                                 next_worker_seed_ + worker, worker},
                                &ledger_);
             }),
      progress_time_(steady_clock::now()) {}

// A snapshot without a lock, while writers write.
void Soak::Inspect() {
  const auto snapshot = view_.Take();
  ++inspections_;
  CheckHeader(snapshot->header, view_.size(), &findings_);
  CheckSlot(view_.file().machine, snapshot->slot, &findings_);
  history_.Observe(view_.file().machine, snapshot->header.generation, snapshot->slot, &findings_);
  CheckProgress(snapshot->header.generation);
  most_holders_ = std::max(most_holders_, CountHolders(snapshot->slot));
}

// Under the lock nobody writes. A writer killed between its commit and its drawing leaves old
// files, and `rendered` says so: the next one draws them.
void Soak::InspectFiles() {
  const auto lock = view_.TakeLock();
  const sim::StateFile& file = view_.file();
  if (file.header.rendered != file.header.generation) {
    ++unrendered_;
    return;
  }
  ++file_inspections_;
  CheckRendered(ReadTree(node_.root(), kDriverTrees), reference_, file.machine,
                file.slots[file.header.generation & 1], &findings_);
}

void Soak::CheckProgress(std::uint64_t generation) {
  const auto now = steady_clock::now();
  if (generation != progress_generation_) {
    progress_generation_ = generation;
    progress_time_ = now;
  } else if (now - progress_time_ > kStuck) {
    findings_.Add("no commit for {} s: a lock is stuck", kStuck.count());
  }
}

void Soak::Disturb() {
  const std::uint64_t dice = random_() % 1000;
  if (dice < 5 && options_.cells > 1) {
    cells_.KillCell(1 + static_cast<std::uint32_t>(random_() % (options_.cells - 1)));
    ++cell_kills_;
  } else if (dice < 700) {
    cells_.KillWorker(static_cast<std::uint32_t>(random_() % options_.workers));
    ++kills_;
  }
}

void Soak::Bury() {
  for (const Cells::Death& death : cells_.Reap()) {
    ++deaths_;
    const bool killed = WIFSIGNALED(death.status) && WTERMSIG(death.status) == SIGKILL;
    const bool ended = WIFEXITED(death.status) && WEXITSTATUS(death.status) == 0;
    if (!killed && !(ended && ledger_.stop != 0)) {
      findings_.Add("worker {} ended with status {:#x}", death.worker, death.status);
    }
    for (std::uint32_t change = 0; change < kChanges; ++change) {
      uncertain_[change] += ledger_.workers[death.worker].changes[change].open.exchange(0);
    }
  }
}

Result<void> Soak::Run() {
  TRY_VOID(cells_.Revive());
  const auto end = steady_clock::now() + std::chrono::seconds(options_.seconds);
  for (std::uint64_t round = 0; Sound() && steady_clock::now() < end; ++round) {
    Inspect();
    Disturb();
    if (round % 16 == 0) InspectFiles();
    Bury();
    next_worker_seed_ += options_.workers;
    TRY_VOID(cells_.Revive());
    // How long until the next blow is part of the randomness.
    poll(nullptr, 0, static_cast<int>(random_() % 8));
  }
  StopWorkers();
  if (ledger_.complaining == 2) findings_.Add("{}", ledger_.complaint);
  if (findings_.empty()) TRY_VOID(CheckEnd());
  return {};
}

// Half of them finish what they do, the others are killed.
void Soak::StopWorkers() {
  ledger_.stop = 1;
  for (std::uint32_t worker = 0; worker < options_.workers; worker += 2) cells_.KillWorker(worker);
  const auto patience = steady_clock::now() + kStuck;
  while (cells_.running() > 0) {
    Bury();
    Inspect();
    if (steady_clock::now() > patience) {
      findings_.Add("{} workers did not finish: a lock is stuck", cells_.running());
      return;
    }
    poll(nullptr, 0, 1);
  }
}

Result<void> Soak::CheckEnd() {
  for (std::uint32_t cell = 1; cell < options_.cells; ++cell) cells_.KillCell(cell);
  CheckHoldersGone();
  CheckUuids();
  const auto last = view_.Take();
  CheckAccounts(last->slot);
  // A fresh client finishes operations: it removes everything, and every call must succeed.
  const auto cleared =
      RunProgram({options_.build + "/bin/torture-client", node_.library(), "clear"});
  if (!cleared.ok()) findings_.Add("clear: {}", cleared.error().ToString());
  Inspect();
  InspectFiles();
  if (view_.file().header.rendered != view_.file().header.generation) {
    findings_.Add("the files are not drawn after the last operation");
  }
  const auto empty = view_.Take();
  const std::uint64_t left = CountInstances(view_.file().machine, empty->slot, false);
  if (cleared.ok() && left != 0) findings_.Add("{} GPU instances are left after clearing", left);
  const std::uint64_t holders = CountHolders(empty->slot);
  if (cleared.ok() && holders != 0) findings_.Add("{} holders are left after clearing", holders);
  return {};
}

// Nothing may be lost or doubled: what the clients counted is what the node holds, but for the
// changes that were under way when their client was killed.
void Soak::CheckAccounts(const sim::Slot& slot) {
  const sim::Machine& machine = view_.file().machine;
  const Range created = Count(kCreateGpuInstance), destroyed = Count(kDestroyGpuInstance);
  const std::uint64_t incarnations = slot.next_incarnation - first_incarnation_;
  if (incarnations < created.least || incarnations > created.most) {
    findings_.Add("{} incarnations were given out, clients created {} to {}", incarnations,
                  created.least, created.most);
  }
  const std::uint64_t live = CountInstances(machine, slot, false);
  if (live + destroyed.most < created.least || live + destroyed.least > created.most) {
    findings_.Add("{} GPU instances live; {} to {} created, {} to {} destroyed", live,
                  created.least, created.most, destroyed.least, destroyed.most);
  }
  const Range made = Count(kCreateComputeInstance), unmade = Count(kDestroyComputeInstance);
  const std::uint64_t parts = CountInstances(machine, slot, true);
  if (parts + unmade.most < made.least || parts + unmade.least > made.most) {
    findings_.Add("{} compute instances live; {} to {} created, {} to {} destroyed", parts,
                  made.least, made.most, unmade.least, unmade.most);
  }
  const std::uint64_t commits = history_.last_generation() - first_generation_;
  const std::uint64_t least = created.least + destroyed.least + made.least + unmade.least;
  if (commits < least) findings_.Add("{} commits for {} changes", commits, least);
}

// Every holder's process is dead. Guardians see that a moment later and end too; then no byte of
// the holders file is locked.
void Soak::CheckHoldersGone() {
  const int fd = open(node_.holders().c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    findings_.Add("{} cannot be opened", node_.holders());
    return;
  }
  struct flock lock {};
  const auto patience = steady_clock::now() + kStuck;
  do {
    lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(fd, F_GETLK, &lock) != 0) break;
  } while (lock.l_type != F_UNLCK && steady_clock::now() < patience);
  if (lock.l_type != F_UNLCK) {
    findings_.Add("byte {} of the holders file is still locked by process {}", lock.l_start,
                  lock.l_pid);
  }
  close(fd);
}

// Equal devices had equal UUIDs all along (Ledger::Remember); different ones must differ.
void Soak::CheckUuids() {
  std::map<std::string, std::string> names;
  for (unsigned gpu = 0; gpu < sim::kMaxGpus; ++gpu) {
    for (unsigned instance = 0; instance < sim::kMaxGpuInstances; ++instance) {
      for (unsigned compute = 0; compute < sim::kMaxComputeInstances; ++compute) {
        const UuidRecord& record = ledger_.uuids[gpu][instance][compute];
        if (record.state != 2) continue;
        const std::string name = fmt::format("gpu {} gi {} ci {}", gpu, instance, compute);
        const auto [first, added] = names.emplace(record.uuid, name);
        if (!added) findings_.Add("{} and {} share {}", first->second, name, record.uuid);
      }
    }
  }
  devices_named_ = names.size();
}

Soak::Range Soak::Count(Change change) const {
  std::uint64_t done = 0;
  for (const WorkerRecord& record : ledger_.workers) done += record.changes[change].done;
  return {done, done + uncertain_[change]};
}

std::uint64_t Soak::Sum(std::atomic<std::uint64_t> WorkerRecord::*counter) const {
  std::uint64_t sum = 0;
  for (const WorkerRecord& record : ledger_.workers) sum += record.*counter;
  return sum;
}

void Soak::PrintSummary() const {
  const auto done = [this](Change change) { return Count(change).least; };
  std::uint64_t uncertain = 0;
  for (const std::uint64_t count : uncertain_) uncertain += count;
  std::printf("soak: seed %lu, %u processes in %u PID namespaces, %u s\n", options_.seed,
              options_.workers, options_.cells, options_.seconds);
  std::printf(
      "  operations  %lu GPU instances created, %lu destroyed; %lu compute instances "
      "created, %lu destroyed; %lu refused\n",
      done(kCreateGpuInstance), done(kDestroyGpuInstance), done(kCreateComputeInstance),
      done(kDestroyComputeInstance), Sum(&WorkerRecord::refused));
  std::printf(
      "              %lu full reads, %lu waits with %lu events, %lu workloads (at most %lu at a "
      "time)\n",
      Sum(&WorkerRecord::reads), Sum(&WorkerRecord::waits), Sum(&WorkerRecord::events),
      Sum(&WorkerRecord::holds), most_holders_);
  std::printf(
      "  kills       %lu processes, %lu whole namespaces; %lu deaths, %lu in the middle of "
      "a change\n",
      kills_, cell_kills_, deaths_, uncertain);
  std::printf(
      "  checks      %lu snapshots, %lu times the files under the lock (%lu times still to "
      "be drawn by the next client), %lu UUIDs\n",
      inspections_, file_inspections_, unrendered_, devices_named_);
  std::printf("  generations %lu to %lu\n", first_generation_, history_.last_generation());
}

void Soak::Dump() const {
  const auto snapshot = view_.Take();
  std::fprintf(stderr, "soak: the node is not consistent (seed %lu):\n%s", options_.seed,
               findings_.Text().c_str());
  std::fprintf(stderr, "generation %lu, rendered %lu\n%s", snapshot->header.generation,
               snapshot->header.rendered,
               DescribeState(view_.file().machine, snapshot->slot).c_str());
  const std::string copy = options_.build + "/soak-failure.state";
  std::ofstream(copy, std::ios::binary)
      .write(reinterpret_cast<const char*>(&view_.file()), sizeof(sim::StateFile));
  std::fprintf(stderr, "the state file is kept in %s\n", copy.c_str());
}

}  // namespace partita::torture
