// Any words as ids that kubelet names, a line each, the first byte saying how many are wanted: what
// is given to a container is what was asked for, a preference is a right answer, and whoever is
// listed as a holder holds something that is on this node.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "fuzz/target.h"
#include "service/device_plugin/allocate.h"
#include "service/device_plugin/device_id.h"
#include "service/device_plugin/listing.h"
#include "service/device_plugin/pods.h"
#include "service/device_plugin/prefer.h"
#include "service/device_plugin/testing/node.h"
#include "service/ledger/holds.h"

namespace {

using namespace partita::service::device_plugin;  // NOLINT: a program, not a header
namespace config = partita::config;
namespace ledger = partita::service::ledger;
namespace model = partita::model;
namespace samples = partita::service::device_plugin::testing;
using Ids = std::vector<std::string>;

// A whole GPU, shares of a second, slices of a third, and one that is not offered.
struct Sample {
  model::Inventory inventory = samples::Boards(4);
  ledger::State state;
  config::PluginConfig config = samples::With(config::MigStrategy::kMixed);
  Offered offered;

  Sample() {
    samples::LayOut(inventory, 2, {"1g.5gb", "1g.5gb"});
    state = samples::LedgerOf(inventory);
    config.list_strategies = {config::ListStrategy::kCdiCri};
    config::SharedResource entry = samples::Shared("nvidia.com/gpu", 2);
    entry.devices = {config::SharedDevices::Kind::kList, 0, {"1"}};
    config.time_slicing.emplace().resources = {entry};
    config::OfferRule rule;
    rule.select.index = {model::GpuIndex(3)};
    rule.offered = false;
    offered = Offer(inventory, config, {rule}, true, {}, state);
  }
};

void CheckAllocate(const Sample& node, const OfferedResource& resource, const Ids& ids) {
  const auto answer = Allocate(resource, ids, node.config, {});
  const auto devices = DevicesOf(resource, ids);
  PARTITA_CHECK(devices.ok() || !answer.ok());
  if (!answer.ok()) return;
  std::set<std::string> wanted;
  for (const std::string& id : ids)
    wanted.insert("k8s.device-plugin.nvidia.com/gpu=" + id.substr(0, id.find("::")));
  PARTITA_CHECK(wanted ==
                std::set<std::string>(answer->cdi_devices.begin(), answer->cdi_devices.end()));
}

void CheckPrefer(const Sample& node,
                 const OfferedResource& resource,
                 const Ids& ids,
                 std::size_t size) {
  const Ids required(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(ids.size() / 3));
  for (const auto policy : {config::SharePolicy::kDistributed, config::SharePolicy::kPacked,
                            config::SharePolicy::kSpread}) {
    const Ids answer = Prefer(resource, node.inventory, policy, {ids.begin(), ids.end()},
                              {required.begin(), required.end()}, size);
    const std::set<std::string> may(ids.begin(), ids.end());
    const std::set<std::string> must(required.begin(), required.end());
    const std::set<std::string> chosen(answer.begin(), answer.end());
    PARTITA_CHECK(chosen.size() == answer.size());
    PARTITA_CHECK(std::includes(may.begin(), may.end(), chosen.begin(), chosen.end()));
    if (must.size() > size) {
      PARTITA_CHECK(answer.empty());
      continue;
    }
    PARTITA_CHECK(answer.size() == std::min(size, may.size()));
    PARTITA_CHECK(std::includes(chosen.begin(), chosen.end(), must.begin(), must.end()));
  }
}

// Two looks at the same pods, then none: nothing is held that is not on the node.
void CheckPods(Sample node, const Ids& ids) {
  const std::set<std::string> boards = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"};
  const PodList pods{{{"default", "train", "main", "nvidia.com/gpu", ids},
                      {"default", "other", "main", "nvidia.com/mig-1g.5gb", ids}},
                     {"train", "other"}};
  PodMemory memory;
  Listings listings;
  for (const std::int64_t now : {1, 2, 100, 120}) {
    const Reconciled found = Reconcile(node.state, memory, now < 100 ? pods : PodList{{}, {"x"}},
                                       {node.offered, node.inventory, "worker"}, samples::At(now));
    const auto apply = [&](const ledger::Decision& decision) {
      for (const ledger::Change& change : decision.changes) ledger::Apply(node.state, change);
    };
    for (const PodAction& each : found.bind) {
      PARTITA_CHECK(boards.contains(ledger::BoardOf(each.device).value()));
      PARTITA_CHECK(std::find(ids.begin(), ids.end(), IdOf(each.device)) != ids.end());
      const auto bound = ledger::Bind(node.state, each.device, each.owner, samples::At(now));
      if (bound.ok()) apply(*bound);
    }
    for (const PodAction& each : found.release)
      apply(ledger::Release(node.state, each.device, each.owner));
    memory = found.memory;
    (void)listings.Next(node.offered, node.state, samples::At(now));
  }
  PARTITA_CHECK(node.state.holds.empty());
}

}  // namespace

FUZZ_TARGET(kubelet_ids) {
  static const Sample node;
  if (size == 0 || size > 4096) return 0;
  Ids ids;
  for (const std::string_view line :
       partita::base::Split(partita::fuzz::AsText(data + 1, size - 1), '\n'))
    ids.emplace_back(line);
  for (const OfferedResource& resource : node.offered.resources) {
    CheckAllocate(node, resource, ids);
    CheckPrefer(node, resource, ids, data[0] % 16);
  }
  CheckPods(node, ids);
  return 0;
}
