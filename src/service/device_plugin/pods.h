// Learning from kubelet's PodResources who holds what, and who no longer does: its plugin API never
// says that a device is free again. Errors go towards held: a false hold delays a change of the
// node, a false release lets it destroy somebody's work.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/device_plugin/offered.h"
#include "service/ledger/state.h"

namespace partita::service::device_plugin {

// One container's devices of one resource, as kubelet lists them.
struct PodDevices {
  std::string pod_namespace, pod, container, resource;
  std::vector<std::string> ids;
  bool operator==(const PodDevices&) const = default;
};

// A list, read whole.
struct PodList {
  std::vector<PodDevices> devices;  // only containers that have some
  std::vector<std::string> names;   // of all pods
  bool operator==(const PodList&) const = default;
};

// A hold ends when its device was absent from two lists at least so far apart…
inline constexpr std::chrono::seconds kAbsentFor{10};
// …and was given out longer ago than this: the pod may not have been listed yet.
inline constexpr std::chrono::seconds kYoung{60};
// A holder that was never listed may be an init container, which kubelet does not list.
inline constexpr std::chrono::minutes kUnseenKept{15};
// How long after a list the next one is read.
inline constexpr std::chrono::seconds kReadSoon{10};  // while a list may change something
inline constexpr std::chrono::seconds kReadIdle{60};

// Of ids that nobody knows so many are told.
inline constexpr std::size_t kMostUnknown = 10;

// What earlier lists said. A fresh one after a start of the program loses nothing but time.
struct PodMemory {
  // This kubelet has named a pod of the API server's since it started. Until then its lists may
  // lack any pod: one that starts while that server is away knows the static ones alone.
  bool complete = false;
  struct Absence {
    ledger::Time given;  // of the hold; another one begins anew
    ledger::Time since;  // the first list without it
    bool operator==(const Absence&) const = default;
  };
  std::map<std::string, Absence> absent;  // by the hold's key
  // When a container was first listed with an id. kubelet before 1.34 goes on listing pods that
  // have finished: one that was listed before the device was given out anew may not be whom it went
  // to. It gets it when nobody else was listed for a while, since a pod may also be made again
  // under its old name.
  std::map<std::pair<std::string, std::string>, ledger::Time> listed;  // by id and container
  // Holds that were bound in such doubt: they end no sooner than if nobody had been listed. When
  // they were given out, by key.
  std::map<std::string, ledger::Time> doubtful;
  bool operator==(const PodMemory&) const = default;
};

struct PodAction {
  ledger::Device device;
  ledger::Owner owner;
  bool operator==(const PodAction&) const = default;
};

struct Reconciled {
  std::vector<PodAction> bind;     // for ledger::Bind
  std::vector<PodAction> release;  // for ledger::Release
  // Ids under our resources' names that nobody knows here: the first of them, and how many.
  std::vector<std::string> unknown;
  std::size_t unknown_count = 0;
  PodMemory memory;
  std::chrono::seconds read_again_in = kReadIdle;
};

// Another kubelet: how long something is absent counts anew.
void Forget(PodMemory& memory);

// What a list is compared with. `inventory` tells who is at work: what a process of the pod uses is
// held whatever the list says.
struct PodNode {
  const Offered& offered;
  const model::Inventory& inventory;
  std::string_view name;  // in Kubernetes: static pods end with it
};

// Only after a list that was read whole: a failed read says nothing.
[[nodiscard]] Reconciled Reconcile(const ledger::State& state,
                                   const PodMemory& memory,
                                   const PodList& pods,
                                   const PodNode& node,
                                   ledger::Time now);

}  // namespace partita::service::device_plugin
