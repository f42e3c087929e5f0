#include "agent/mps/mps_service.h"

#include <algorithm>
#include <utility>

#include "agent/mps/known_process.h"
#include "base/files.h"
#include "hw/compute_mode.h"
#include "service/mps/strangers.h"

namespace partita::agent::mps {
namespace {

using base::Result;
using base::Value;
using service::mps::Domain;

// A driver that is being installed comes by and by.
constexpr std::chrono::seconds kUntilLookedForAgain{30};
constexpr const char* kNotYet = "its daemon has not been started yet";

ComputeModes ModesOf(const MpsOptions& options, const std::shared_ptr<hw::nvml::Driver>& driver) {
  return {
      options.modes_file,
      options.boot_id,
      {.read = [driver](const model::PciAddress& gpu) { return hw::ReadComputeMode(*driver, gpu); },
       .set = [driver](const model::PciAddress& gpu,
                       model::ComputeMode mode) { return hw::SetComputeMode(*driver, gpu, mode); }},
      {.root = options.root, .pid_namespace = OurPidNamespace()}};
}

}  // namespace

MpsService::MpsService(net::Loop& loop,
                       base::Log& log,
                       MakeRunner make_runner,
                       net::Task changed,
                       std::function<service::mps::Holders()> holders)
    : loop_(loop),
      log_(log),
      make_runner_(std::move(make_runner)),
      changed_(std::move(changed)),
      holders_(std::move(holders)),
      again_(loop.NewTimer("mps-program")) {}

MpsService::~MpsService() = default;

void MpsService::Start(MpsOptions options, std::shared_ptr<hw::nvml::Driver> driver) {
  options_ = std::move(options);
  driver_ = std::move(driver);
  running_ = true;
}

void MpsService::SetOptions(MpsOptions options) {
  if (!running_ || options == options_) return;
  // Every daemon stays, and is found again.
  if (options.runner != options_.runner) domains_.reset();
  options_ = std::move(options);
  Bring();
}

void MpsService::SetSession(std::uint64_t session) {
  if (session == 0 || session == session_) return;
  const bool another = std::exchange(session_, session) != 0;
  if (another && domains_) domains_->ModesForgotten();
}

void MpsService::SetInventory(std::shared_ptr<const model::Inventory> inventory) {
  inventory_ = std::move(inventory);
  std::map<std::string, std::string> now = Strangers();
  for (const auto& [name, who] : now) {
    const auto before = strangers_.find(name);
    if (before != strangers_.end() && before->second == who) continue;
    log_.Warn("MPS domain: somebody is beside it",
              {{base::LogKey::kStep, name}, {base::LogKey::kError, who}});
  }
  strangers_ = std::move(now);
}

// While its daemon was away a program gets a device without MPS, and a daemon says nothing of it.
std::map<std::string, std::string> MpsService::Strangers() const {
  std::map<std::string, std::string> all;
  if (!domains_ || !inventory_) return all;
  for (const auto& [name, domain] : domains_->ready()) {
    std::string who = service::mps::TellOfStrangers(StrangersOn(domain, *inventory_));
    if (!who.empty()) all.emplace(name, std::move(who));
  }
  return all;
}

void MpsService::HaveMigDevices(const std::optional<std::set<std::string>>& uuids) {
  std::optional<std::set<std::string>> names;
  if (uuids) names.emplace();
  for (const std::string& uuid : uuids.value_or(std::set<std::string>()))
    names->insert(service::mps::NameOfResource(uuid));
  if (names == mig_) return;
  mig_ = std::move(names);
  if (domains_) domains_->HaveMigDevices(mig_);
}

void MpsService::TryAgain() {
  if (domains_) domains_->TryAgain();
}

void MpsService::Stop() {
  running_ = false;
  again_->Cancel();
  domains_.reset();
  driver_.reset();
  wanted_.clear();
  mig_.reset();
  session_ = 0;
  inventory_.reset();
  strangers_.clear();
  problem_.clear();
}

bool MpsService::LeftSomething() const {
  const Result<std::vector<std::string>> names = base::ListDirectory(options_.root);
  return (names.ok() && !names->empty()) || base::Exists(options_.modes_file);
}

void MpsService::Want(std::vector<Domain> wanted, bool complete) {
  if (!running_) return;
  complete_ = complete;
  // What there is stays as long as nobody knows better: a restart ends its clients.
  if (!complete) {
    for (const Domain& before : wanted_) {
      const bool there = std::any_of(wanted.begin(), wanted.end(),
                                     [&](const Domain& one) { return one.name == before.name; });
      if (!there) wanted.push_back(before);
    }
  }
  wanted_ = std::move(wanted);
  Bring();
}

void MpsService::Bring() {
  again_->Cancel();
  const bool none = wanted_.empty() || !options_.refused.empty();
  problem_ = wanted_.empty() ? "" : options_.refused;
  if (!domains_ && !(none && !LeftSomething())) Make();
  if (domains_) domains_->Want(none ? std::vector<Domain>() : wanted_, options_.policy, complete_);
  changed_();
}

void MpsService::Make() {
  Result<std::shared_ptr<Runner>> runner = make_runner_(options_);
  if (!runner.ok()) {
    problem_ = runner.error().ToString();
    again_->After(kUntilLookedForAgain, [this] { Bring(); });
    return;
  }
  domains_ = std::make_unique<Domains>(
      loop_, log_,
      Machine{.root = options_.root, .boot_id = options_.boot_id, .runner = *std::move(runner)},
      ModesOf(options_, driver_), [this] { changed_(); }, holders_);
  domains_->HaveMigDevices(mig_);
}

std::string MpsService::WhyNot(const std::string& name) const {
  if (!problem_.empty()) return problem_;
  if (!domains_) return kNotYet;
  const auto waiting = domains_->waiting().find(name);
  if (waiting != domains_->waiting().end()) return waiting->second;
  const std::map<std::string, Condition> conditions = domains_->conditions();
  const auto found = conditions.find(name);
  if (found == conditions.end()) return domains_->problem().empty() ? kNotYet : domains_->problem();
  return found->second.phase == Phase::kReady ? "" : found->second.why;
}

std::map<std::string, std::string> MpsService::Problems() const {
  std::map<std::string, std::string> problems;
  for (const Domain& domain : wanted_) {
    const std::string why = WhyNot(domain.name);
    problems[domain.name] = why.empty() ? "" : "MPS: " + why;
  }
  return problems;
}

std::map<std::string, std::string> MpsService::Kept() const {
  std::map<std::string, std::string> devices;
  if (!domains_) return devices;
  for (const Domain& domain : domains_->kept()) {
    for (const service::mps::Member& member : domain.members) {
      devices[member.uuid] =
          "MPS domain " + domain.name + " has it until the pods that hold shares of it have gone";
    }
  }
  return devices;
}

void MpsService::AddModeProblems(std::map<std::string, model::MpsDomain>& all) const {
  for (const auto& [gpu, why] : domains_->mode_problems()) {
    const auto has = [&gpu = gpu](const auto& each) {
      const std::vector<std::string>& devices = each.second.devices;
      return std::find(devices.begin(), devices.end(), gpu) != devices.end();
    };
    auto domain = std::find_if(all.begin(), all.end(), has);
    if (domain == all.end()) {
      const std::string& unknown = domains_->problem();
      const model::MpsDomain ended{
          .name = gpu, .devices = {gpu}, .problem = unknown.empty() ? "it has ended" : unknown};
      domain = all.emplace(gpu, ended).first;
    }
    domain->second.warning = why;
  }
}

std::vector<model::MpsDomain> MpsService::Report() const {
  std::map<std::string, model::MpsDomain> all;
  const auto add = [&](const Domain& domain, bool kept) {
    model::MpsDomain& one = all[domain.name];
    one = {.name = domain.name, .devices = {}, .problem = WhyNot(domain.name), .kept = kept};
    for (const service::mps::Member& member : domain.members) one.devices.push_back(member.uuid);
  };
  for (const Domain& domain : wanted_) add(domain, false);
  if (domains_) {
    for (const Domain& domain : domains_->kept()) add(domain, true);
    AddModeProblems(all);
    for (const auto& [name, who] : Strangers()) {
      const auto domain = all.find(name);
      if (domain == all.end()) continue;
      std::string& warning = domain->second.warning;
      warning += (warning.empty() ? "" : "; ") + who;
    }
  }
  std::vector<model::MpsDomain> report;
  report.reserve(all.size());
  for (auto& [name, domain] : all) report.push_back(std::move(domain));
  return report;
}

Value MpsService::State() const {
  return Value::Map().Set("root", options_.root).Set("domains", ToValue(Report()));
}

}  // namespace partita::agent::mps
