#include "service/health/codec.h"

#include <array>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/member_reader.h"
#include "base/value.h"

namespace partita::service::health {
namespace {

using base::Error;
using base::ErrorCode;
using base::MemberReader;
using base::Value;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array kCauses = {Cause::kXid,           Cause::kRecoveryAction, Cause::kLost,
                                Cause::kHung,          Cause::kMissing,        Cause::kUnreadable,
                                Cause::kResetRequired, Cause::kRemapPending,   Cause::kRemapFailed,
                                Cause::kMemoryErrors};

// In the order of their enums.
constexpr std::array<std::string_view, 4> kEffects = {"nothing", "degraded", "unhealthy-once-idle",
                                                      "unhealthy"};
constexpr std::array<std::string_view, 7> kProofs = {
    "quiet", "application", "reset", "found-anew", "boot", "signal", "three-looks"};

template <typename Since>
Value Milliseconds(Since since) {
  return Value(static_cast<std::uint64_t>(duration_cast<milliseconds>(since).count()));
}

void SetPart(Value& map, const Part& part) {
  map.Set("gpu", part.gpu.value());
  if (part.gpu_instance) map.Set("gpuInstance", part.gpu_instance->value());
  if (part.compute_instance) map.Set("computeInstance", part.compute_instance->value());
}

Value EncodeFault(const Fault& fault) {
  Value map = Value::Map();
  SetPart(map, fault.part);
  map.Set("cause", ToString(fault.cause))
      .Set("xid", fault.xid)
      .Set("effect", kEffects.at(static_cast<std::size_t>(fault.effect)))
      .Set("proof", kProofs.at(static_cast<std::size_t>(fault.proof)))
      .Set("text", fault.text)
      .Set("at", Milliseconds(fault.at.time_since_epoch()))
      .Set("last", Milliseconds(fault.last.time_since_epoch()))
      .Set("since", Milliseconds(fault.since.time_since_epoch()))
      .Set("count", fault.count)
      .Set("module", fault.driver.module)
      .Set("asked", fault.asked)
      .Set("gone", fault.gone)
      .Set("wasIdle", fault.was_idle)
      .Set("byRule", fault.by_rule)
      .Set("back", fault.back);
  if (fault.clear_after)
    map.Set("clearAfter", static_cast<std::uint64_t>(fault.clear_after->count()));
  if (fault.errors) map.Set("errors", *fault.errors);
  if (fault.instance)
    map.Set("profile", fault.instance->profile.value()).Set("start", fault.instance->start);
  if (fault.processes) {
    Value pids = Value::List();
    for (const model::Pid pid : *fault.processes) pids.Add(static_cast<std::uint64_t>(pid.value()));
    map.Set("processes", std::move(pids));
  }
  return map;
}

// Of a clock: no number of nanoseconds that it cannot have.
milliseconds Span(const MemberReader& reader, std::string_view key) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 42;  // more than a century
  return milliseconds(reader.Number(key, kMost));
}

Time At(const MemberReader& reader, std::string_view key) { return Time(Span(reader, key)); }

template <typename Id>
std::optional<Id> SmallId(const MemberReader& reader, std::string_view key) {
  if (!reader.Has(key)) return std::nullopt;
  return Id(
      static_cast<std::uint32_t>(reader.Number(key, std::numeric_limits<std::uint32_t>::max())));
}

Part ReadPart(const MemberReader& reader) {
  return {.gpu = model::GpuUuid(reader.Text("gpu")),
          .gpu_instance = SmallId<model::GpuInstanceId>(reader, "gpuInstance"),
          .compute_instance = SmallId<model::ComputeInstanceId>(reader, "computeInstance")};
}

// Absent in files of before it was written.
std::optional<model::InstanceKey> ReadInstance(const MemberReader& reader, const Part& part) {
  const auto profile = SmallId<model::ProfileId>(reader, "profile");
  if (!profile) return std::nullopt;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return model::InstanceKey{part.gpu, *profile,
                            static_cast<std::uint32_t>(reader.Number("start", kMost))};
}

Cause ReadCause(const MemberReader& reader) {
  const std::string word = reader.Text("cause");
  for (const Cause cause : kCauses)
    if (ToString(cause) == word) return cause;
  reader.Wrong("cause");
  return Cause::kXid;
}

Fault ReadFault(const Value& map, std::string& problem) {
  const MemberReader reader(map, problem);
  Fault fault;
  fault.part = ReadPart(reader);
  fault.cause = ReadCause(reader);
  fault.xid = reader.Number("xid");
  fault.effect = static_cast<Effect>(reader.Word("effect", kEffects));
  fault.proof = static_cast<Proof>(reader.Word("proof", kProofs));
  fault.text = reader.Text("text");
  fault.at = At(reader, "at");
  fault.last = At(reader, "last");
  fault.since = base::Clock::Wall(Span(reader, "since"));
  fault.count = reader.Number("count");
  fault.driver.module = reader.Number("module");
  fault.asked = reader.Flag("asked");
  fault.gone = reader.Flag("gone");
  fault.was_idle = reader.Flag("wasIdle");
  // Absent in files of before they were written; then only a rule had a time.
  fault.by_rule = reader.Has("byRule") ? reader.Flag("byRule") : reader.Has("clearAfter");
  fault.back = reader.Has("back") && reader.Flag("back");
  if (reader.Has("clearAfter"))
    fault.clear_after = duration_cast<seconds>(Span(reader, "clearAfter") * 1000);
  if (reader.Has("errors")) fault.errors = reader.Number("errors");
  fault.instance = ReadInstance(reader, fault.part);
  if (!reader.Has("processes")) return fault;
  fault.processes.emplace();
  const Value* pids = reader.Find("processes", Value::Kind::kList);
  if (pids == nullptr) return fault;
  for (const Value& pid : pids->items()) {
    if (pid.kind() != Value::Kind::kUnsigned)
      reader.Wrong("processes");
    else
      fault.processes->emplace_back(static_cast<std::int64_t>(pid.AsUnsigned()));
  }
  return fault;
}

std::vector<Value> ItemsOf(const Value& document, std::string_view key, std::string& problem) {
  const Value* list = MemberReader(document, problem).Find(key, Value::Kind::kList);
  return list == nullptr ? std::vector<Value>() : list->items();
}

}  // namespace

std::string Encode(const Health& health, std::string_view boot) {
  Value faults = Value::List(), heard = Value::List(), recoveries = Value::List();
  for (const Fault& fault : health.faults) faults.Add(EncodeFault(fault));
  for (const Heard& each : health.heard) {
    Value map = Value::Map();
    SetPart(map, each.part);
    heard.Add(
        std::move(map.Set("xid", each.xid).Set("at", Milliseconds(each.at.time_since_epoch()))));
  }
  for (const Recovery& each : health.recoveries) {
    Value map = Value::Map();
    SetPart(map, each.part);
    recoveries.Add(std::move(map.Set("at", Milliseconds(each.at.time_since_epoch()))));
  }
  return base::ToJson(Value::Map()
                          .Set("boot", boot)
                          .Set("faults", std::move(faults))
                          .Set("heard", std::move(heard))
                          .Set("recoveries", std::move(recoveries)));
}

base::Result<Health> Decode(std::string_view text, std::string_view boot) {
  TRY(document, base::ParseJson(text));
  std::string problem;
  Health health;
  if (MemberReader(document, problem).Text("boot") != boot && problem.empty()) return health;
  for (const Value& map : ItemsOf(document, "faults", problem))
    health.faults.push_back(ReadFault(map, problem));
  for (const Value& map : ItemsOf(document, "heard", problem)) {
    const MemberReader reader(map, problem);
    health.heard.push_back({ReadPart(reader), reader.Number("xid"), At(reader, "at")});
  }
  for (const Value& map : ItemsOf(document, "recoveries", problem)) {
    const MemberReader reader(map, problem);
    health.recoveries.push_back({ReadPart(reader), At(reader, "at")});
  }
  if (!problem.empty())
    return Error(ErrorCode::kInvalid, problem + " is missing or makes no sense");
  return health;
}

}  // namespace partita::service::health
