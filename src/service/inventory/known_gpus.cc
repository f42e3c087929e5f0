#include "service/inventory/known_gpus.h"

#include <algorithm>

#include <fmt/format.h>

namespace partita::service::inventory {

using hw::nvml::GpuAnswer;
using hw::nvml::Part;
using hw::nvml::PartAnswer;
using hw::nvml::Parts;

KnownGpus::KnownGpus(const std::vector<Remembered>& remembered) {
  for (const Remembered& each : remembered) {
    Known& known = gpus_[each.pci];
    known.gpu.pci = each.pci;
    known.gpu.uuid = each.uuid;
    known.gpu.name = each.name;
    known.gpu.index = each.index;
    known.gpu.minor = each.minor;
    known.silent = "it was not read yet";
  }
}

void KnownGpus::OnBus(const std::vector<model::PciAddress>& gpus) {
  for (const model::PciAddress& pci : gpus) {
    Known& known = gpus_[pci];
    known.gpu.pci = pci;
    if (!std::exchange(known.on_bus, true)) Forget(known);
  }
  for (auto& [pci, known] : gpus_) {
    if (std::find(gpus.begin(), gpus.end(), pci) != gpus.end()) continue;
    known.on_bus = false;
    Unanswered(pci,
               {model::FaultKind::kLost,
                "it is no longer on the PCI bus, or its driver was unbound: see the kernel log, "
                "then rescan the bus or reboot the node"});
  }
}

// What belongs to a session. The values stay, to be shown until the next answer.
void KnownGpus::Forget(Known& known) {
  known.handle.reset();
  for (auto& [part, state] : known.parts) state.read = false;
}

void KnownGpus::NewSession() {
  for (auto& [pci, known] : gpus_) Forget(known);
}

hw::nvml::GpuQuestion KnownGpus::Question(const model::PciAddress& pci, Parts parts) const {
  hw::nvml::GpuQuestion question{pci, parts, std::nullopt, {}};
  question.known.pci = pci;
  const auto found = gpus_.find(pci);
  const auto was_read = [&](Part part) {
    if (found == gpus_.end()) return false;
    const auto state = found->second.parts.find(part);
    return state != found->second.parts.end() && state->second.read;
  };
  for (const Part part : {Part::kIdentity, Part::kModes, Part::kInstances}) {
    if (!was_read(part)) question.parts |= {part};
  }
  if (found == gpus_.end()) return question;
  question.handle = found->second.handle;
  question.known = found->second.gpu;
  // The memory in use of a GPU in MIG mode is that of its instances: with what it was before,
  // somebody who has ended would seem to be there, unseen.
  const std::optional<model::Mig>& mig = question.known.mig;
  if (parts.Has(Part::kHolders) && mig && !mig->instances.empty())
    question.parts |= {Part::kInstances};
  // Profiles of another session may be those of another driver.
  if (!was_read(Part::kInstances) && question.known.mig) question.known.mig->profiles.clear();
  return question;
}

void KnownGpus::Absorb(const model::PciAddress& pci,
                       const GpuAnswer& answer,
                       std::optional<Time> whole) {
  Known& known = gpus_[pci];
  if (answer.fault) {
    Unanswered(pci, *answer.fault);
    return;
  }
  if (answer.session_lost) return;
  known.handle = answer.handle;
  known.fault.reset();
  known.silent.reset();
  for (const PartAnswer& part : answer.parts) {
    PartState& state = known.parts[part.part];
    state = {true, part.faults, part.problems, whole ? whole : state.at};
    const auto lost = std::find_if(
        part.faults.begin(), part.faults.end(),
        [](const model::Fault& fault) { return fault.kind == model::FaultKind::kLost; });
    if (lost != part.faults.end()) {
      state.faults.clear();
      state.read = false;
      Unanswered(pci, *lost);
      return;
    }
    // A board that says nothing of itself is shown as it was.
    if (part.part == Part::kIdentity && !part.gpu.uuid) {
      state.read = false;
      known.silent = part.faults.empty() ? "it does not tell its UUID" : part.faults.front().text;
      continue;
    }
    const bool another =
        part.part == Part::kIdentity && known.gpu.uuid && known.gpu.uuid != part.gpu.uuid;
    if (another) known.gpu = {};
    Take(part, known);
  }
  if (!known.silent && whole) known.answered = whole;
}

// Nothing vanishes because a call failed: it is asked for again at the next look.
void KnownGpus::Take(const PartAnswer& part, Known& known) {
  const bool failed = !part.problems.empty() || !part.faults.empty();
  const bool had_mig = known.gpu.mig.has_value();
  hw::nvml::Take(part.part, part.gpu, known.gpu,
                 failed ? hw::nvml::Gaps::kKept : hw::nvml::Gaps::kTaken);
  if (part.part == Part::kIdentity && !part.problems.empty())
    known.parts[Part::kIdentity].read = false;
  const bool shape = part.part == Part::kModes || part.part == Part::kInstances;
  if (!shape || !part.gpu.mig_error) return;
  known.parts[Part::kInstances].read = false;
  if (had_mig) known.silent = part.gpu.mig_error->ToString();
}

void KnownGpus::Unanswered(const model::PciAddress& pci, const model::Fault& fault) {
  Known& known = gpus_[pci];
  known.gpu.pci = pci;
  known.fault = fault;
  known.silent = fault.text;
  Forget(known);
}

bool KnownGpus::IsUnlisted(const Known& known) {
  return known.on_bus && known.fault && known.fault->kind == model::FaultKind::kMissing;
}

bool KnownGpus::AnyUnlisted() const {
  return std::any_of(gpus_.begin(), gpus_.end(),
                     [](const auto& each) { return IsUnlisted(each.second); });
}

std::map<model::PciAddress, model::GpuIndex> KnownGpus::Indexes() const {
  std::map<model::PciAddress, model::GpuIndex> indexes;
  std::set<model::GpuIndex> taken;
  for (const bool heard : {true, false}) {
    for (const auto& [pci, known] : gpus_) {
      const auto identity = known.parts.find(Part::kIdentity);
      const bool read = identity != known.parts.end() && identity->second.read;
      // The driver counts without those that are gone or that it does not list.
      if (read != heard || !known.gpu.index || !known.on_bus || IsUnlisted(known)) continue;
      if (taken.insert(*known.gpu.index).second) indexes.emplace(pci, *known.gpu.index);
    }
  }
  return indexes;
}

hw::nvml::Facts KnownGpus::Facts() const {
  hw::nvml::Facts facts;
  const std::map<model::PciAddress, model::GpuIndex> indexes = Indexes();
  for (const auto& [pci, known] : gpus_) {
    model::Gpu gpu = known.gpu;
    gpu.faults.clear();
    const auto index = indexes.find(pci);
    gpu.index = index != indexes.end() ? std::optional(index->second) : std::nullopt;
    if (known.fault) gpu.faults.push_back(*known.fault);
    // A list that nobody asked for is not an empty one.
    const auto holders = known.parts.find(Part::kHolders);
    if ((holders == known.parts.end() || !holders->second.read) && !gpu.processes_error) {
      gpu.processes_error =
          base::Error(base::ErrorCode::kUnavailable, "who uses it was not looked at");
    }
    // Nor is a GPU that was not read in this life one without MIG.
    if (known.silent && !known.fault && !known.answered && !gpu.mig && !gpu.mig_error)
      gpu.mig_error = base::Error(base::ErrorCode::kUnavailable, *known.silent);
    const std::string name = gpu.index ? fmt::format("{}", *gpu.index) : pci.ToString();
    for (const auto& [part, state] : known.parts) {
      gpu.faults.insert(gpu.faults.end(), state.faults.begin(), state.faults.end());
      for (const base::Error& error : state.problems) facts.problems.push_back({name, error});
    }
    facts.gpus.push_back(std::move(gpu));
  }
  facts.count = static_cast<std::uint32_t>(facts.gpus.size());
  return facts;
}

std::map<model::PciAddress, Stale> KnownGpus::stale() const {
  std::map<model::PciAddress, Stale> stale;
  for (const auto& [pci, known] : gpus_) {
    if (known.silent)
      stale[pci] = {known.answered, *known.silent};
    else if (IsLeftAlone(pci))
      stale[pci] = {known.answered,
                    "it is not asked: after an XID such as it had, a call may never come back"};
  }
  return stale;
}

std::optional<Time> KnownGpus::ReadAt(const model::PciAddress& pci, Part part) const {
  const auto known = gpus_.find(pci);
  if (known == gpus_.end()) return std::nullopt;
  const auto state = known->second.parts.find(part);
  return state == known->second.parts.end() ? std::nullopt : state->second.at;
}

std::vector<model::PciAddress> KnownGpus::addresses() const {
  std::vector<model::PciAddress> addresses;
  for (const auto& [pci, known] : gpus_) {
    if (known.on_bus) addresses.push_back(pci);
  }
  return addresses;
}

std::vector<hw::nvml::Peer> KnownGpus::Peers() const {
  std::vector<hw::nvml::Peer> peers;
  for (const auto& [pci, known] : gpus_) {
    if (known.handle && !known.silent && !IsLeftAlone(pci))
      peers.push_back({pci, known.handle->value});
  }
  return peers;
}

std::vector<Remembered> KnownGpus::ToRemember() const {
  std::vector<Remembered> remembered;
  for (const auto& [pci, known] : gpus_) {
    if (!known.gpu.uuid) continue;
    remembered.push_back({pci, *known.gpu.uuid, known.gpu.name, known.gpu.index, known.gpu.minor});
  }
  return remembered;
}

}  // namespace partita::service::inventory
