// What pods and virtual machines get through the device plugin. kubelet allocates, and the ledger
// mirrors.
#pragma once

#include <vector>

#include "service/ledger/decision.h"

namespace partita::service::ledger {

struct Reservation {
  Owner owner;  // a Pod or a Vm; kubelet does not say which one it is, only the resource
  std::vector<Device> devices;
};

// An allocation that kubelet asks for. Whoever held the same device is replaced, because kubelet
// offers only what it has freed. Refused, with the name of the holder, where another device that
// somebody holds has some of the same atoms (kBusy), where the GPU is offered otherwise (kConflict)
// or there is no such device (kNotFound). Plans that have not begun lose the device.
[[nodiscard]] base::Result<Decision> Reserve(const State& state,
                                             const Reservation& wanted,
                                             Time now);

// Whose a device is, as the node says. Nobody need have reserved it: after a crash this is how
// holds come back. Refused (kBusy) only for an overlap, as Reserve.
[[nodiscard]] base::Result<Decision> Bind(const State& state,
                                          const Device& device,
                                          const Owner& owner,
                                          Time now);

// The end of a hold. One that belongs to another owner by now is left alone.
[[nodiscard]] Decision Release(const State& state, const Device& device, const Owner& owner);

// The device as the ledger knows it: with its address, its incarnation, what is remembered of it.
[[nodiscard]] Device Completed(const State& state, Device device);

// Fails (kNotFound) unless the device was seen, under this name, when the machine was last looked
// at.
[[nodiscard]] base::Result<void> CheckKnown(const State& state, const Device& device);

}  // namespace partita::service::ledger
