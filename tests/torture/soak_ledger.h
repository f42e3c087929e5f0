// What the processes of a soak write down where their death cannot take it along: memory that they
// share with the judge.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "sim/state/layout.h"

namespace partita::torture {

// A change as the client counts it. Killed between `open = 1` and `open = 0`, nobody knows whether
// it was published: the judge counts it as uncertain.
struct Counted {
  std::atomic<std::uint64_t> done;
  std::atomic<std::uint32_t> open;
};

enum Change : std::uint32_t {
  kCreateGpuInstance,
  kDestroyGpuInstance,
  kCreateComputeInstance,
  kDestroyComputeInstance,
  kChanges,
};

struct WorkerRecord {
  Counted changes[kChanges];
  std::atomic<std::uint64_t> refused;  // no room, in use, vanished: proper answers
  std::atomic<std::uint64_t> reads, waits, events, holds;
};

// The MIG UUID of one (GPU, GPU instance, compute instance), written once.
struct UuidRecord {
  std::atomic<std::uint32_t> state;  // 0 empty, 1 being written, 2 written
  char uuid[48];
};

inline constexpr std::uint32_t kMaxWorkers = 64;

struct Ledger {
  std::atomic<std::uint32_t> stop;
  std::atomic<std::uint32_t> complaining;  // 1: somebody writes into complaint, 2: it is written
  char complaint[2048];
  WorkerRecord workers[kMaxWorkers];
  UuidRecord uuids[sim::kMaxGpus][sim::kMaxGpuInstances][sim::kMaxComputeInstances];

  // The first complaint is kept.
  void Complain(std::string_view text);
  // Keeps the UUID, or complains when this device had another one before.
  void Remember(unsigned gpu, unsigned instance, unsigned compute, std::string_view uuid);
};

}  // namespace partita::torture
