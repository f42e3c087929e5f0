#include "service/ledger/codec.h"

#include <array>
#include <utility>

#include "base/json.h"
#include "base/value.h"
#include "service/ledger/fields.h"

namespace partita::service::ledger {
namespace {

using base::Value;

// Maps have a name before they are filled: a chain of Set ends in a reference, and what it refers
// to would be copied with all that is in it.
Value Encode(Time time) {
  const std::int64_t count = time.time_since_epoch().count();
  return count < 0 ? Value(count) : Value(static_cast<std::uint64_t>(count));
}
Time ReadTime(const Fields& fields, std::string_view key) {
  return Time(Time::duration(fields.Signed(key)));
}

Value Encode(const model::Placement& place) {
  Value value = Value::Map();
  value.Set("start", place.start).Set("size", place.size);
  return value;
}
model::Placement ReadPlacement(const Fields& fields) {
  return {fields.Small("start"), fields.Small("size")};
}

std::optional<model::PciAddress> ReadAddress(const Fields& fields, std::string_view key) {
  if (!fields.Has(key)) return std::nullopt;
  const base::Result<model::PciAddress> address = model::PciAddress::Parse(fields.Text(key));
  if (address.ok()) return *address;
  fields.Wrong(key, "is no PCI address");
  return std::nullopt;
}

// A choice of words, told by the function that prints it.
template <typename Choice, std::size_t n>
Choice ReadWord(const Fields& fields, std::string_view key, const std::array<Choice, n>& choices) {
  const std::string word = fields.Text(key);
  for (Choice choice : choices)
    if (ToString(choice) == word) return choice;
  fields.Wrong(key, "is no word of its list");
  return choices.front();
}
constexpr std::array kWays = {Via::kDevicePlugin, Via::kDra, Via::kVm, Via::kNone};
constexpr std::array kSteps = {ClaimStep::kPrepareStarted, ClaimStep::kPrepareCompleted,
                               ClaimStep::kUnprepareStarted, ClaimStep::kTombstone};

Value Encode(const WholeGpu& gpu) {
  Value value = Value::Map();
  value.Set("type", "gpu").Set("uuid", gpu.uuid.value());
  if (gpu.slot) value.Set("slot", gpu.slot->ToString());
  return value;
}
WholeGpu ReadGpu(const Fields& fields) {
  return {model::GpuUuid(fields.Text("uuid")), ReadAddress(fields, "slot")};
}

Value Encode(const MigDevice& device) {
  Value value = Value::Map();
  value.Set("type", "mig")
      .Set("gpu", Encode(device.gpu))
      .Set("profile", device.profile.value())
      .Set("memory", Encode(device.memory))
      .Set("compute", Encode(device.compute))
      .Set("uuid", device.uuid.value())
      .Set("incarnation", device.incarnation.value());
  return value;
}
MigDevice ReadMig(const Fields& fields) {
  return {ReadGpu(fields.Below("gpu")),          model::ProfileId(fields.Small("profile")),
          ReadPlacement(fields.Below("memory")), ReadPlacement(fields.Below("compute")),
          model::MigUuid(fields.Text("uuid")),   Incarnation(fields.Number("incarnation"))};
}

Value Encode(const Share& share) {
  Value value = Value::Map();
  value.Set("type", "share")
      .Set("of", std::visit([](const auto& of) { return Encode(of); }, share.of))
      .Set("n", share.n)
      .Set("strategy", share.sharing.strategy)
      .Set("parameters", share.sharing.parameters)
      .Set("offer", share.sharing.offer);
  if (!share.size.empty()) value.Set("size", share.size);
  return value;
}
Share ReadShare(const Fields& fields) {
  const Fields of = fields.Below("of");
  Share share{WholeGpu{},
              fields.Small("n"),
              {fields.Text("strategy"), fields.Text("parameters"), fields.Text("offer")}};
  if (fields.Has("size")) share.size = fields.Text("size");
  if (of.Text("type") == "mig") {
    share.of = ReadMig(of);
  } else {
    share.of = ReadGpu(of);
  }
  return share;
}

Value Encode(const VfioDevice& device) {
  Value value = Value::Map();
  value.Set("type", "vfio").Set("pci", device.pci.ToString());
  if (device.remembered) value.Set("remembered", device.remembered->value());
  if (device.iommu_group) value.Set("iommuGroup", *device.iommu_group);
  return value;
}
VfioDevice ReadVfio(const Fields& fields) {
  VfioDevice device;
  if (!fields.Has("pci")) fields.Wrong("pci", "is missing");
  device.pci = ReadAddress(fields, "pci").value_or(model::PciAddress());
  if (fields.Has("remembered")) device.remembered = model::GpuUuid(fields.Text("remembered"));
  if (fields.Has("iommuGroup")) device.iommu_group = fields.Small("iommuGroup");
  return device;
}

Value Encode(const Device& device) {
  return std::visit([](const auto& one) { return Encode(one); }, device);
}
Device ReadDevice(const Fields& fields) {
  const std::string type = fields.Text("type");
  if (type == "gpu") return ReadGpu(fields);
  if (type == "mig") return ReadMig(fields);
  if (type == "share") return ReadShare(fields);
  if (type != "vfio") fields.Wrong("type", "is no device's");
  return ReadVfio(fields);
}

Value EncodeHolder(const Owner& owner) {
  if (const auto* vm = std::get_if<Vm>(&owner))
    return Value::Map().Set("type", "vm").Set("name", vm->name).Set("resource", vm->resource);
  const auto& pod = std::get<Pod>(owner);
  Value value = Value::Map();
  value.Set("type", "pod")
      .Set("namespace", pod.pod_namespace)
      .Set("name", pod.name)
      .Set("container", pod.container)
      .Set("resource", pod.resource);
  return value;
}
Owner ReadHolder(const Fields& fields) {
  if (fields.Text("type") == "vm") return Vm{fields.Text("name"), fields.Text("resource")};
  return Pod{fields.Text("namespace"), fields.Text("name"), fields.Text("container"),
             fields.Text("resource")};
}

Value EncodeEntry(const Era& era) {
  Value value = Value::Map();
  value.Set("kind", "era").Set("boot", era.boot).Set("next", era.next);
  return value;
}
Entry ReadEra(const Fields& fields) { return Era{fields.Text("boot"), fields.Number("next")}; }

Value EncodeEntry(const SeenGpu& seen) {
  Value value = Value::Map();
  value.Set("kind", "gpu").Set("gpu", Encode(seen.gpu));
  return value;
}
Entry ReadSeenGpu(const Fields& fields) { return SeenGpu{ReadGpu(fields.Below("gpu"))}; }

Value EncodeEntry(const SeenInstance& seen) {
  Value compute = Value::List();
  for (const SeenCompute& one : seen.compute) {
    compute.Add(Value::Map()
                    .Set("place", Encode(one.place))
                    .Set("id", one.id.value())
                    .Set("uuid", one.uuid.value())
                    .Set("incarnation", one.incarnation.value()));
  }
  Value value = Value::Map();
  value.Set("kind", "instance")
      .Set("gpu", Encode(seen.gpu))
      .Set("profile", seen.profile.value())
      .Set("memory", Encode(seen.memory))
      .Set("id", seen.id.value())
      .Set("foreign", seen.foreign)
      .Set("compute", std::move(compute));
  return value;
}
Entry ReadSeenInstance(const Fields& fields) {
  SeenInstance seen{ReadGpu(fields.Below("gpu")),
                    model::ProfileId(fields.Small("profile")),
                    ReadPlacement(fields.Below("memory")),
                    model::GpuInstanceId(fields.Small("id")),
                    fields.Flag("foreign"),
                    {}};
  for (const Fields& one : fields.List("compute")) {
    seen.compute.push_back(
        {ReadPlacement(one.Below("place")), model::ComputeInstanceId(one.Small("id")),
         model::MigUuid(one.Text("uuid")), Incarnation(one.Number("incarnation"))});
  }
  return seen;
}

Value EncodeEntry(const SeenVfio& seen) {
  Value value = Value::Map();
  value.Set("kind", "vfio").Set("device", Encode(seen.device));
  return value;
}
Entry ReadSeenVfio(const Fields& fields) { return SeenVfio{ReadVfio(fields.Below("device"))}; }

Value EncodeEntry(const Offer& offer) {
  Value value = Value::Map();
  value.Set("kind", "offer").Set("board", offer.board.value()).Set("via", ToString(offer.via));
  if (offer.next) value.Set("next", ToString(*offer.next));
  if (offer.withdrawn) value.Set("withdrawn", Encode(*offer.withdrawn));
  return value;
}
Entry ReadOffer(const Fields& fields) {
  Offer offer{Board(fields.Text("board")), ReadWord(fields, "via", kWays)};
  if (fields.Has("next")) offer.next = ReadWord(fields, "next", kWays);
  if (fields.Has("withdrawn")) offer.withdrawn = ReadTime(fields, "withdrawn");
  return offer;
}

Value EncodeEntry(const Hold& hold) {
  Value value = Value::Map();
  value.Set("kind", "hold")
      .Set("device", Encode(hold.device))
      .Set("owner", EncodeHolder(hold.owner))
      .Set("seen", hold.seen)
      .Set("since", Encode(hold.since))
      .Set("gone", hold.gone);
  return value;
}
Entry ReadHold(const Fields& fields) {
  return Hold{ReadDevice(fields.Below("device")), ReadHolder(fields.Below("owner")),
              fields.Flag("seen"), ReadTime(fields, "since"), fields.Flag("gone")};
}

Value EncodeEntry(const Claim& claim) {
  Value uses = Value::List();
  for (const Use& use : claim.uses)
    uses.Add(Value::Map().Set("device", Encode(use.device)).Set("admin", use.admin));
  Value value = Value::Map();
  value.Set("kind", "claim")
      .Set("uid", claim.owner.uid)
      .Set("namespace", claim.owner.claim_namespace)
      .Set("name", claim.owner.name)
      .Set("uses", std::move(uses))
      .Set("step", ToString(claim.step))
      .Set("attempt", claim.attempt)
      .Set("since", Encode(claim.since));
  return value;
}
Entry ReadClaim(const Fields& fields) {
  Claim claim{{fields.Text("uid"), fields.Text("namespace"), fields.Text("name")},
              {},
              ReadWord(fields, "step", kSteps),
              fields.Number("attempt"),
              ReadTime(fields, "since")};
  for (const Fields& use : fields.List("uses"))
    claim.uses.push_back({ReadDevice(use.Below("device")), use.Flag("admin")});
  return claim;
}

Value EncodeEntry(const Plan& plan) {
  Value scope = Value::List();
  for (const Device& device : plan.scope) scope.Add(Encode(device));
  Value value = Value::Map();
  value.Set("kind", "plan")
      .Set("id", plan.id)
      .Set("scope", std::move(scope))
      .Set("locked", plan.locked)
      .Set("ended", plan.ended)
      .Set("withdrawn", Encode(plan.withdrawn));
  return value;
}
Entry ReadPlan(const Fields& fields) {
  Plan plan{fields.Text("id"),
            {},
            fields.Flag("locked"),
            fields.Flag("ended"),
            ReadTime(fields, "withdrawn")};
  for (const Fields& device : fields.List("scope")) plan.scope.push_back(ReadDevice(device));
  return plan;
}

struct Kind {
  std::string_view word;
  Entry (*read)(const Fields&);
};
constexpr std::array<Kind, 8> kKinds = {{{"era", ReadEra},
                                         {"gpu", ReadSeenGpu},
                                         {"instance", ReadSeenInstance},
                                         {"vfio", ReadSeenVfio},
                                         {"offer", ReadOffer},
                                         {"hold", ReadHold},
                                         {"claim", ReadClaim},
                                         {"plan", ReadPlan}}};

Value EncodeAny(const Entry& entry) {
  return std::visit([](const auto& one) { return EncodeEntry(one); }, entry);
}

Entry ReadEntry(const Fields& fields) {
  const std::string word = fields.Text("kind");
  for (const Kind& kind : kKinds)
    if (kind.word == word) return kind.read(fields);
  fields.Wrong("kind", "is no entry's");
  return Era{};
}

base::Error NotOurs(const std::string& problem) {
  return base::MakeError(base::ErrorCode::kInvalid, "not an entry of the ledger: {}", problem)
      .WithHint("was it written by another version of partita? move it away to begin anew");
}

}  // namespace

std::string EncodeChanges(const std::vector<Change>& changes) {
  Value list = Value::List();
  for (const Change& change : changes) {
    Value value = Value::Map();
    if (const auto* put = std::get_if<Put>(&change)) {
      value.Set("put", EncodeAny(put->entry));
    } else {
      value.Set("erase", std::get<Erase>(change).name);
    }
    list.Add(std::move(value));
  }
  return base::ToJsonLine(Value::Map().Set("changes", std::move(list)));
}

base::Result<std::vector<Change>> DecodeChanges(std::string_view text) {
  TRY(document, base::ParseJson(text));
  std::string problem;
  std::vector<Change> changes;
  for (const Fields& fields : Fields(document, problem).List("changes")) {
    if (fields.Has("put")) {
      changes.emplace_back(Put{ReadEntry(fields.Below("put"))});
    } else {
      changes.emplace_back(Erase{fields.Text("erase")});
    }
  }
  if (!problem.empty()) return NotOurs(problem);
  return changes;
}

std::string EncodeSnapshot(const Snapshot& snapshot) {
  Value entries = Value::List();
  for (const Entry& entry : AllEntries(snapshot.state)) entries.Add(EncodeAny(entry));
  return base::ToJson(
      Value::Map().Set("sequence", snapshot.sequence).Set("entries", std::move(entries)));
}

base::Result<Snapshot> DecodeSnapshot(std::string_view text) {
  TRY(document, base::ParseJson(text));
  std::string problem;
  const Fields fields(document, problem);
  Snapshot snapshot;
  snapshot.sequence = fields.Number("sequence");
  for (const Fields& entry : fields.List("entries")) Apply(snapshot.state, Put{ReadEntry(entry)});
  if (!problem.empty()) return NotOurs(problem);
  return snapshot;
}

}  // namespace partita::service::ledger
