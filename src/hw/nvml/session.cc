#include "hw/nvml/session.h"

#include <array>
#include <string>
#include <utility>

#include "hw/nvml/errors.h"

namespace partita::hw::nvml {

base::Result<std::shared_ptr<Session>> Session::Open(std::shared_ptr<const Library> library,
                                                     std::uint64_t generation,
                                                     std::chrono::nanoseconds attach_limit,
                                                     CallWatch& watch) {
  const Api& api = library->api();
  const nvmlReturn_t code = Caller(api, watch).Within(attach_limit, api.init);
  if (code != NVML_SUCCESS) return NvmlError(api.init.name(), code);
  std::shared_ptr<Session> session(new Session(std::move(library), generation, attach_limit));
  if (base::Result<void> read = session->ReadDriver(watch); !read.ok()) {
    session->Close(watch);
    return std::move(read).error();
  }
  return session;
}

void Session::Close(CallWatch& watch) {
  if (!std::exchange(open_, false)) return;
  const auto& shutdown = library_->api().shutdown;
  // Also when nobody waits for this job any more: whoever opened the session late is the only one
  // who knows of it. The code changes nothing: after a driver reload there is nothing to close.
  // It waits for other threads in the library, and takes GPUs down that it woke.
  const bool watched = watch.Enter(shutdown.name(), attach_limit_);
  if (shutdown.pointer() != nullptr) (void)shutdown.pointer()();
  if (watched) watch.Leave();
}

base::Result<void> Session::ReadDriver(CallWatch& watch) {
  Caller call = CallerFor(watch);
  const Api& api = library_->api();
  model::Driver driver;
  driver.library_path = library_->path();

  std::array<char, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> text{};
  nvmlReturn_t code = call(api.driver_version, text.data(), unsigned{text.size()});
  if (code != NVML_SUCCESS) return NvmlError(api.driver_version.name(), code);
  driver.version = text.data();

  text = {};
  code = call(api.nvml_version, text.data(), unsigned{text.size()});
  if (code == NVML_SUCCESS) driver.nvml_version = text.data();

  int cuda = 0;  // major * 1000 + minor * 10
  code = call(api.cuda_version, &cuda);
  if (code == NVML_SUCCESS) driver.cuda = {.major = cuda / 1000, .minor = cuda % 1000 / 10};
  driver_ = std::move(driver);
  return {};
}

base::Result<std::uint32_t> Session::CountDevices(CallWatch& watch) const {
  const Api& api = library_->api();
  unsigned count = 0;
  const nvmlReturn_t code = CallerFor(watch)(api.device_count, &count);
  if (code != NVML_SUCCESS) return NvmlError(api.device_count.name(), code);
  return count;
}

base::Result<DeviceHandle> Session::FindDevice(const model::PciAddress& pci,
                                               CallWatch& watch) const {
  const Api& api = library_->api();
  nvmlDevice_t device = nullptr;
  const nvmlReturn_t code = CallerFor(watch).Within(attach_limit_, api.device_by_bus_id,
                                                    pci.NvmlBusId().c_str(), &device);
  if (code != NVML_SUCCESS) return NvmlError(api.device_by_bus_id.name(), code);
  return DeviceHandle{.generation = generation_, .value = device};
}

base::Result<DeviceHandle> Session::FindDevice(model::GpuIndex index, CallWatch& watch) const {
  const Api& api = library_->api();
  nvmlDevice_t device = nullptr;
  const nvmlReturn_t code =
      CallerFor(watch).Within(attach_limit_, api.device_by_index, index.value(), &device);
  if (code != NVML_SUCCESS) return NvmlError(api.device_by_index.name(), code);
  return DeviceHandle{.generation = generation_, .value = device};
}

base::Result<nvmlDevice_t> Session::Use(const DeviceHandle& handle) const {
  if (!open_ || handle.generation != generation_) {
    return base::MakeError(base::ErrorCode::kUnavailable,
                           "the GPU's handle is of driver session {}, which is over",
                           handle.generation)
        .WithHint("look the GPU up again");
  }
  return handle.value;
}

}  // namespace partita::hw::nvml
