#include "agent/mig_service.h"

#include <utility>
#include <vector>

#include "agent/mig_at_start.h"
#include "service/mig/change_wire.h"
#include "service/mig/layout_check.h"

namespace partita::agent {

using base::LogKey;
using base::Value;

MigService::MigService(net::Loop& loop, base::Log& log, Node& node, LedgerKeeper& ledger)
    : log_(log), node_(node), ledger_(ledger), changes_(loop, log) {}

void MigService::Register(control::Server& server) {
  changes_.Register(server);
  // For whoever only plans: he waits for no change, and has looked himself.
  server.Register("mig.pinned", [this](const std::shared_ptr<control::Call>& call) {
    service::mig::PlanLook look;
    if (node_.running()) {
      look.node = node_.live().current()->inventory;
      look.pinned = ledger_.Pinned(look.node);
    }
    call->Finish(ToWire(look));
  });
}

void MigService::Start(const config::AgentConfig& config,
                       const std::string& state_directory,
                       const net::Task& done) {
  config_ = config;
  state_directory_ = state_directory;
  Serve();
  // What a reboot took is brought back from what every GPU says: only then are those that are late
  // waited for.
  if (!MayBeOursToBringBack(config_, state_directory_)) return Compare(done);
  node_.WhenSettled([this, done] { Compare(done); });
}

void MigService::Serve() {
  MigChanges::Options options;
  options.reader.root = config_.host_root.value;
  options.reader.driver_root = config_.driver_root.value;
  options.driver = node_.shared_driver();
  options.look = [this](net::Task done) {
    // A change that outlasted the stop of everything else.
    if (!node_.running()) return done();
    node_.live().LookPatiently(
        hw::nvml::Parts::All(),
        [done = std::move(done)](const service::inventory::SnapshotPtr&) { done(); });
  };
  options.pinned = [this](const model::Inventory& node) { return ledger_.Pinned(node); };
  options.gate = [this](const model::Inventory& node,
                        const std::vector<service::mig::GpuSteps>& steps, const Gate& answer) {
    const auto begin = [this, node, steps, answer] {
      ledger_.BeginPlan(node, steps, [this, answer](base::Result<std::string> plan) {
        if (!plan.ok()) return answer(std::move(plan).error());
        plan_ = *std::move(plan);
        answer({});
      });
    };
    if (!plan_ || !node_.running()) return begin();
    // The step before this one is over: what it made is seen before it is somebody's again.
    node_.live().LookPatiently(hw::nvml::Parts::All(),
                               [this, begin](const service::inventory::SnapshotPtr&) {
                                 EndPlan();
                                 begin();
                               });
  };
  options.ended = [this] { EndPlan(); };
  changes_.Start(std::move(options));
}

void MigService::Compare(const net::Task& done) {
  const service::mig::LayoutCheck check =
      CheckLayout(node_.live().current()->inventory, WantedLayoutOf(config_, state_directory_));
  const auto remember = [this, done] {
    const base::Result<void> kept = RememberThisBoot(state_directory_);
    if (!kept.ok())
      log_.Warn("that this boot was seen is not remembered", base::ErrorFields(kept.error()));
    done();
  };
  // Of what nobody has read nothing can be said: the next start asks again.
  if (!check.wanted.empty() && !node_.answered()) {
    log_.Warn("not every GPU has answered: whether MIG is as wanted is not known",
              {{LogKey::kMig, check.wanted}});
    return done();
  }
  if (check.differences.empty()) {
    log_.Debug(check.wanted.empty() ? "no layout of MIG is wanted" : "MIG is as wanted",
               {{LogKey::kMig, check.wanted}});
    return remember();
  }
  for (const std::string& difference : check.differences)
    log_.Warn("MIG is not as wanted", {{LogKey::kMig, difference}});
  if (!IsOursToBringBack(check, config_, state_directory_)) return remember();
  changes_.BringBack(BootChoiceOf(config_), [this, remember, done](const auto& end) {
    if (end.status == service::mig::ChangeStatus::kDone) {
      log_.Info("MIG was lost by a reboot and brought back", {{LogKey::kMig, end.line}});
      return remember();
    }
    // Stopped, or hindered by something that may pass: the next start tries again.
    log_.Warn("MIG was lost by a reboot and not brought back", {{LogKey::kError, end.line}});
    done();
  });
}

Value MigService::State(const config::AgentConfig& config) const {
  const service::mig::LayoutCheck check =
      CheckLayout(node_.live().current()->inventory, WantedLayoutOf(config, state_directory_));
  Value differences = Value::List();
  for (const std::string& difference : check.differences) differences.Add(difference);
  return Value::Map()
      .Set("wanted", check.wanted)
      .Set("asWanted", check.differences.empty())
      .Set("differences", std::move(differences))
      .Set("changing", changes_.running());
}

void MigService::EndPlan() {
  if (const std::optional<std::string> plan = std::exchange(plan_, std::nullopt))
    ledger_.EndPlan(*plan);
}

}  // namespace partita::agent
