// NVML between its init and its shutdown. While one is open, every GPU's device node is held open,
// which keeps GPUs from being reset or changing MIG mode on boards before Hopper.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "hw/nvml/library.h"
#include "model/ids.h"
#include "model/inventory.h"

namespace partita::hw::nvml {

// A GPU as one session knows it. In another session it is stale.
struct DeviceHandle {
  std::uint64_t generation = 0;
  nvmlDevice_t value = nullptr;
  bool operator==(const DeviceHandle&) const = default;
};

// Used in jobs of the Driver, which opens and closes it.
class Session {
 public:
  // `generation` must differ from that of every other session. Waking the GPUs of a machine without
  // persistence mode takes seconds each: `attach_limit` holds for the calls that may do so.
  static base::Result<std::shared_ptr<Session>> Open(std::shared_ptr<const Library> library,
                                                     std::uint64_t generation,
                                                     std::chrono::nanoseconds attach_limit,
                                                     CallWatch& watch);
  void Close(CallWatch& watch);

  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] const Library& library() const { return *library_; }
  [[nodiscard]] Caller CallerFor(CallWatch& watch) const { return {library_->api(), watch}; }

  // As it was when the session was opened.
  [[nodiscard]] const model::Driver& driver() const { return driver_; }
  [[nodiscard]] base::Result<std::uint32_t> CountDevices(CallWatch& watch) const;
  [[nodiscard]] base::Result<DeviceHandle> FindDevice(const model::PciAddress& pci,
                                                      CallWatch& watch) const;
  [[nodiscard]] base::Result<DeviceHandle> FindDevice(model::GpuIndex index,
                                                      CallWatch& watch) const;

  // The handle for a call; kUnavailable if it is of another session or this one is closed.
  [[nodiscard]] base::Result<nvmlDevice_t> Use(const DeviceHandle& handle) const;

 private:
  Session(std::shared_ptr<const Library> library,
          std::uint64_t generation,
          std::chrono::nanoseconds attach_limit)
      : library_(std::move(library)), generation_(generation), attach_limit_(attach_limit) {}

  base::Result<void> ReadDriver(CallWatch& watch);

  std::shared_ptr<const Library> library_;
  model::Driver driver_;
  std::uint64_t generation_;
  std::chrono::nanoseconds attach_limit_;
  bool open_ = true;
};

}  // namespace partita::hw::nvml
