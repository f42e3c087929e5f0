#include "hw/compute_mode.h"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "hw/nvml/errors.h"
#include "hw/nvml/job_fault.h"
#include "model/words.h"

namespace partita::hw {
namespace {

using base::Result;
using model::ComputeMode;

constexpr unsigned kLastMode = static_cast<unsigned>(ComputeMode::kExclusiveProcess);

Result<ComputeMode> AskMode(nvml::Caller& call, nvml::nvmlDevice_t device) {
  const auto& function = call.api.compute_mode;
  nvml::nvmlComputeMode_t mode = 0;
  const nvml::nvmlReturn_t code = call(function, device, &mode);
  if (code != nvml::NVML_SUCCESS) return nvml::NvmlError(function.name(), code);
  if (mode <= kLastMode) return static_cast<ComputeMode>(mode);
  return base::MakeError(base::ErrorCode::kInternal, "the driver knows a compute mode {}", mode);
}

// `wanted`: set before it is read.
Result<ComputeMode> Converse(const nvml::Session& session,
                             nvml::CallWatch& watch,
                             const model::PciAddress& gpu,
                             std::optional<ComputeMode> wanted) {
  TRY(handle, session.FindDevice(gpu, watch));
  TRY(device, session.Use(handle));
  nvml::Caller call = session.CallerFor(watch);
  if (wanted) {
    const auto& function = call.api.set_compute_mode;
    const nvml::nvmlReturn_t code = call(function, device, static_cast<unsigned>(*wanted));
    if (code != nvml::NVML_SUCCESS) return nvml::NvmlError(function.name(), code);
  }
  return AskMode(call, device);
}

// Shared with the job, which may be left behind.
struct ModeAnswer {
  std::mutex mutex;
  std::optional<Result<ComputeMode>> mode;
};

Result<ComputeMode> RunJob(nvml::Driver& driver,
                           const model::PciAddress& gpu,
                           std::optional<ComputeMode> wanted) {
  const auto answer = std::make_shared<ModeAnswer>();
  const nvml::Driver::Report report =
      driver.Run(nvml::KeyOf(gpu), driver.LimitsFor(),
                 [answer, gpu, wanted](const nvml::Session& session, nvml::CallWatch& watch) {
                   Result<ComputeMode> mode = Converse(session, watch, gpu, wanted);
                   const std::scoped_lock lock(answer->mutex);
                   answer->mode.emplace(std::move(mode));
                 });
  if (!report.Done()) return nvml::ErrorFrom(report);
  const std::scoped_lock lock(answer->mutex);
  return *answer->mode;
}

}  // namespace

Result<ComputeMode> ReadComputeMode(nvml::Driver& driver, const model::PciAddress& gpu) {
  TRY(mode, RunJob(driver, gpu, std::nullopt), "GPU {}", gpu.ToString());
  return mode;
}

Result<void> SetComputeMode(nvml::Driver& driver, const model::PciAddress& gpu, ComputeMode mode) {
  TRY(now, RunJob(driver, gpu, mode), "GPU {}", gpu.ToString());
  if (now == mode) return {};
  return base::MakeError(base::ErrorCode::kNotApplied,
                         "GPU {}: the driver has compute mode {} after it was set to {}",
                         gpu.ToString(), model::Word(now), model::Word(mode));
}

}  // namespace partita::hw
