#include "service/device_plugin/mps_sharing.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "service/device_plugin/device_id.h"

namespace partita::service::device_plugin {
namespace {

std::optional<mps::Member> BoardMember(const model::Gpu& gpu) {
  if (!gpu.uuid || !gpu.compute_major || !gpu.compute_minor) return std::nullopt;
  mps::Member member;
  member.uuid = gpu.uuid->value();
  member.pci = gpu.pci;
  if (gpu.memory) member.memory = gpu.memory->total;
  member.capability = {*gpu.compute_major, *gpu.compute_minor};
  return member;
}

void AddSliceMembers(const model::Gpu& gpu,
                     const mps::Member& board,
                     std::map<std::string, mps::Member>& members) {
  std::uint32_t slices = 0;
  for (const model::GpuInstanceProfile& profile : gpu.mig->profiles)
    slices = std::max(slices, profile.slice_count);
  for (const model::GpuInstance& instance : gpu.mig->instances) {
    for (const model::ComputeInstance& compute : instance.compute_instances) {
      mps::Member member = board;
      member.uuid = compute.uuid.value();
      member.memory = instance.memory ? instance.memory->total : model::Bytes(0);
      member.mig = true;
      member.compute = {compute.slice_count, slices};
      members.insert_or_assign(compute.uuid.value(), std::move(member));
    }
  }
}

std::vector<mps::Size> SizesOf(const config::SharedResource& entry) {
  std::vector<mps::Size> sizes;
  for (const config::ShareSize& size : entry.shares)
    sizes.push_back({.name = size.name,
                     .replicas = size.replicas,
                     .memory = model::Bytes(size.memory),
                     .memory_part = model::Percent(size.memory_percent),
                     .threads = model::Percent(size.threads)});
  return sizes;
}

}  // namespace

std::map<std::string, mps::Member> MembersOf(const model::Inventory& inventory) {
  std::map<std::string, mps::Member> members;
  for (const model::Gpu& gpu : inventory.gpus) {
    const std::optional<mps::Member> board = BoardMember(gpu);
    if (!board) continue;
    members.insert_or_assign(board->uuid, *board);
    if (gpu.mig) AddSliceMembers(gpu, *board, members);
  }
  return members;
}

mps::Holders HoldersForMps(const ledger::State& ledger) {
  mps::Holders holders;
  for (const ledger::Holder& holder : ledger::HoldersOf(ledger)) {
    if (holder.use.admin || std::holds_alternative<ledger::Operation>(holder.owner)) continue;
    if (const auto* share = std::get_if<ledger::Share>(&holder.use.device)) {
      const ledger::Device of =
          std::visit([](const auto& device) { return ledger::Device(device); }, share->of);
      const std::string uuid = IdOf(of);
      holders.shares.insert(uuid);
      if (share->sharing.strategy != MpsSharesOf("").strategy) holders.otherwise.insert(uuid);
    } else {
      holders.otherwise.insert(IdOf(holder.use.device));
    }
  }
  return holders;
}

MpsSharing::MpsSharing(const model::Inventory& inventory, const config::PluginConfig& config)
    : config_(config) {
  if (!config.mps) return;
  members_ = MembersOf(inventory);
  complete_ = inventory.driver.has_value();
}

void MpsSharing::Add(const std::string& uuid, const config::SharedResource& entry) {
  mps::SharedDevices& shared = shared_[entry.SharesName()];
  shared.resource = entry.SharesName();
  shared.one_share_each = config_.mps->fail_requests_greater_than_one;
  const auto known = members_.find(uuid);
  mps::Member member = known == members_.end() ? mps::Member() : known->second;
  member.uuid = uuid;  // of one that is not known, for the message
  if (member.memory == model::Bytes(0)) complete_ = false;
  shared.devices.push_back({std::move(member), entry.replicas, SizesOf(entry)});
}

void MpsSharing::Decide(std::vector<std::string>& problems) {
  const mps::Factors factors{config_.mps_memory_factor, config_.mps_thread_factor};
  std::vector<mps::SharedDevices> all;
  for (const auto& [resource, shared] : shared_) all.push_back(shared);
  mps::Domains made = mps::MakeDomains(all, factors);
  problems.insert(problems.end(), made.problems.begin(), made.problems.end());
  domains_ = std::move(made.domains);
  std::map<std::string, std::string> domain_of;
  for (const mps::Domain& domain : domains_)
    for (const mps::Member& member : domain.members) domain_of[member.uuid] = domain.name;
  for (const mps::SharedDevices& shared : all) {
    for (const auto& [member, replicas, sizes] : shared.devices) {
      const auto domain = domain_of.find(member.uuid);
      if (domain == domain_of.end()) continue;
      const mps::Limits whole = mps::WholeOf(member);
      if (sizes.empty())
        shares_.try_emplace(
            {member.uuid, ""},
            MpsShare{domain->second, mps::EqualShare(member, replicas, factors), whole});
      for (const mps::Size& size : sizes)
        shares_.try_emplace(
            {member.uuid, size.name},
            MpsShare{domain->second, mps::SizedShare(member, size), whole, size.name});
    }
  }
}

std::optional<MpsShare> MpsSharing::ShareOf(const std::string& uuid,
                                            const std::string& size) const {
  const auto share = shares_.find({uuid, size});
  return share == shares_.end() ? std::nullopt : std::optional(share->second);
}

}  // namespace partita::service::device_plugin
