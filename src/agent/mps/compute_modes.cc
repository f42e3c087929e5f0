#include "agent/mps/compute_modes.h"

#include <utility>

#include "base/json.h"
#include "base/state_file.h"
#include "base/value.h"

namespace partita::agent::mps {
namespace {

using base::Result;
using base::Value;
using model::ComputeMode;

constexpr std::uint64_t kLastMode = static_cast<std::uint64_t>(ComputeMode::kExclusiveProcess);

base::StateFile ModesFile(const std::string& path) {
  return {.path = path, .name = "mps-modes", .version = 1};
}

base::Error Unusable(const std::string& path) {
  return base::MakeError(base::ErrorCode::kInvalid, "{} does not say which modes GPUs had", path)
      .WithHint("look at nvidia-smi -q -d COMPUTE, set what is wrong, then remove the file");
}

const Value* Member(const Value& map, std::string_view key, Value::Kind kind) {
  const Value* member = map.Find(key);
  return member != nullptr && member->kind() == kind ? member : nullptr;
}

std::string TextOf(const Value& map, std::string_view key) {
  const Value* member = Member(map, key, Value::Kind::kString);
  return member == nullptr ? "" : member->AsString();
}

}  // namespace

ComputeModes::ComputeModes(std::string path, std::string boot_id, Calls calls, Home home)
    : path_(std::move(path)),
      boot_id_(std::move(boot_id)),
      home_(std::move(home)),
      calls_(std::move(calls)) {}

Result<service::mps::ModesBefore> ComputeModes::Load() {
  before_.clear();
  TRY(read, base::ReadState(ModesFile(path_)));
  if (!read.payload) return before();
  TRY(map, base::ParseJson(*read.payload), "{}", path_);
  const Value* boot = Member(map, "bootId", Value::Kind::kString);
  const Value* gpus = Member(map, "gpus", Value::Kind::kList);
  if (boot == nullptr || gpus == nullptr) return Unusable(path_);
  if (boot->AsString() != boot_id_) return before();
  for (const Value& each : gpus->items()) {
    const Value* uuid = Member(each, "uuid", Value::Kind::kString);
    const Value* pci = Member(each, "pci", Value::Kind::kString);
    const Value* mode = Member(each, "mode", Value::Kind::kUnsigned);
    if (uuid == nullptr || pci == nullptr || mode == nullptr || mode->AsUnsigned() > kLastMode) {
      return Unusable(path_);
    }
    TRY(address, model::PciAddress::Parse(pci->AsString()), "{}", path_);
    before_[uuid->AsString()] = {address, static_cast<ComputeMode>(mode->AsUnsigned())};
  }
  const Home written{TextOf(map, "root"), TextOf(map, "pidNamespace")};
  if (home_ == Home()) {
    home_ = written;
  } else if (home_ != written && !before_.empty()) {
    (void)Keep();  // its daemons are ours now; what cannot be written now is with the next change
  }
  return before();
}

service::mps::ModesBefore ComputeModes::before() const {
  service::mps::ModesBefore modes;
  for (const auto& [uuid, before] : before_) modes[uuid] = before.mode;
  return modes;
}

Result<void> ComputeModes::Keep() const {
  Value gpus = Value::List();
  for (const auto& [uuid, before] : before_) {
    Value gpu = Value::Map();
    gpu.Set("uuid", uuid)
        .Set("pci", before.gpu.ToString())
        .Set("mode", static_cast<std::uint64_t>(before.mode));
    gpus.Add(std::move(gpu));
  }
  Value map = Value::Map();
  map.Set("bootId", boot_id_).Set("gpus", std::move(gpus));
  if (!home_.root.empty()) map.Set("root", home_.root);
  if (!home_.pid_namespace.empty()) map.Set("pidNamespace", home_.pid_namespace);
  return base::WriteState(ModesFile(path_), base::ToJson(map));
}

Result<void> ComputeModes::MakeExclusive(const std::string& uuid, const model::PciAddress& gpu) {
  TRY(now, calls_.read(gpu));
  if (now == ComputeMode::kExclusiveProcess) return {};
  if (before_.emplace(uuid, Before{gpu, now}).second) {
    if (Result<void> kept = Keep(); !kept.ok()) {
      before_.erase(uuid);
      return std::move(kept).error();
    }
  }
  return calls_.set(gpu, ComputeMode::kExclusiveProcess);
}

Result<void> ComputeModes::Restore(const std::string& uuid) {
  const auto known = before_.find(uuid);
  if (known == before_.end()) return {};
  TRY(now, calls_.read(known->second.gpu));
  if (now == ComputeMode::kExclusiveProcess) {
    TRY_VOID(calls_.set(known->second.gpu, known->second.mode));
  }
  // While the file names it it is not done with: the file would have the next agent put it back.
  auto restored = before_.extract(known);
  Result<void> kept = Keep();
  if (!kept.ok()) before_.insert(std::move(restored));
  return kept;
}

}  // namespace partita::agent::mps
