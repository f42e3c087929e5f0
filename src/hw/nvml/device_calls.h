// A conversation with the driver about one GPU, which remembers what went wrong in it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/nvml/api.h"
#include "hw/nvml/errors.h"
#include "model/inventory.h"

namespace partita::hw::nvml {

// What nvidia-smi -i takes for it.
[[nodiscard]] std::string NameOf(const model::Gpu& gpu);

// In a job of the driver. Once the GPU is lost, the session over or the job abandoned, nothing more
// is asked.
class DeviceCalls {
 public:
  // `name`: what nvidia-smi -i takes for this GPU, in advice.
  DeviceCalls(Caller& call, nvmlDevice_t device, std::string name)
      : call_(call), device_(device), name_(std::move(name)) {}

  [[nodiscard]] const Api& api() const { return call_.api; }
  [[nodiscard]] nvmlDevice_t device() const { return device_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  void Rename(std::string name) { name_ = std::move(name); }

  // True if the driver answered. A feature that is absent is simply not answered; any other failure
  // is kept for Problems() or Faults().
  template <typename Signature, typename... Arguments>
  bool Ask(const Function<Signature>& function, Arguments&&... arguments) {
    return Note(function.name(), Raw(function, device_, std::forward<Arguments>(arguments)...));
  }

  // `value = Get<Result>(function, arguments before the output…)`.
  template <typename Value, typename Signature, typename... Arguments>
  std::optional<Value> Get(const Function<Signature>& function, Arguments&&... arguments) {
    Value value{};
    if (!Ask(function, std::forward<Arguments>(arguments)..., &value)) return std::nullopt;
    return value;
  }

  template <std::size_t size, typename Signature>
  std::optional<std::string> GetText(const Function<Signature>& function) {
    return GetTextOf<size>(function, device_);
  }
  // Of another handle: a MIG device of this GPU.
  template <std::size_t size, typename Signature>
  std::optional<std::string> GetTextOf(const Function<Signature>& function, nvmlDevice_t device) {
    std::array<char, size> text{};
    if (!Note(function.name(), Raw(function, device, text.data(), unsigned{size}))) {
      return std::nullopt;
    }
    return std::string(text.data());
  }

  // The bare code, for calls whose failures have a meaning of their own; any handle goes. Codes
  // that end the conversation are noted in any case.
  template <typename Signature, typename... Arguments>
  nvmlReturn_t Raw(const Function<Signature>& function, Arguments&&... arguments) {
    if (over_) return Caller::kGivenUp;
    const nvmlReturn_t code = call_(function, std::forward<Arguments>(arguments)...);
    if (code != NVML_SUCCESS) NoteEnd(code);
    return code;
  }

  // Keeps a failure. True for success.
  bool Note(const char* function, nvmlReturn_t code);

  // The same for a call that the whole picture depends on: what it lacks for this is kept in `gap`,
  // unless it lacks something already.
  bool NoteGap(const char* function, nvmlReturn_t code, std::optional<base::Error>& gap);

  void AddProblem(base::Error error) { problems_.push_back(std::move(error)); }
  void AddFault(model::Fault fault) { faults_.push_back(std::move(fault)); }

  // Nothing more is asked.
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] bool session_lost() const { return session_lost_; }
  [[nodiscard]] const std::vector<base::Error>& problems() const { return problems_; }
  [[nodiscard]] const std::vector<model::Fault>& faults() const { return faults_; }

 private:
  void NoteEnd(nvmlReturn_t code);

  Caller& call_;
  nvmlDevice_t device_;
  std::string name_;
  bool over_ = false;
  bool session_lost_ = false;
  bool reset_required_ = false;
  std::vector<base::Error> problems_;
  std::vector<model::Fault> faults_;
};

// Room for as many as the driver says there are; kInternal, with the call's name, where no GPU can
// have so many.
[[nodiscard]] base::Result<std::size_t> RoomFor(const char* function, unsigned count);

// The fault that a code means for the GPU of that name whose lookup or whose call gave it.
[[nodiscard]] model::Fault FaultOf(const base::Error& error, std::string_view name);

// What to do about a GPU that must be reset.
[[nodiscard]] std::string ResetAdvice(std::string_view name);

}  // namespace partita::hw::nvml
