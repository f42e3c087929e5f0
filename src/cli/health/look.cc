#include "cli/health/look.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "agent/boot_id.h"
#include "agent/control/control_client.h"
#include "base/files.h"
#include "base/state_file.h"
#include "cli/report_error.h"
#include "cli/status/node_source.h"
#include "model/unread.h"
#include "service/health/changes.h"
#include "service/health/codec.h"
#include "service/health/document.h"

namespace partita::cli {
namespace {

using agent::control::Client;
using base::ErrorCode;
using service::health::Health;

constexpr std::chrono::seconds kAgentPatience{5};

// What an agent has written down in this boot. Only read: a damaged file is the agent's to mend.
Health Remembered() {
  const std::string path = base::JoinPath(base::StateDirectory(), "health.json");
  const base::Result<std::string> text = base::ReadFile(path);
  const base::Result<std::string> boot = agent::ReadBootId();
  if (!text.ok() || !boot.ok()) {
    if (!text.ok() && text.error().code() != ErrorCode::kNotFound)
      Warn(text.error().ToString() + ": what an agent knew is not shown");
    return {};
  }
  const std::string_view payload = std::string_view(*text).substr(text->find('\n') + 1);
  base::Result<Health> health = service::health::Decode(payload, *boot);
  if (health.ok()) return *std::move(health);
  Warn(path + ": " + health.error().ToString() + ": what an agent knew is not shown");
  return {};
}

// One look is all there is: what it finds counts at once, and it proves nothing.
base::Result<base::Value> OwnLook(const service::inventory::ReaderOptions& options) {
  service::inventory::Reader reader(options);
  const model::Inventory inventory = reader.Read();
  if (!inventory.driver && inventory.driver_error) return model::WhyNoDriver(inventory);
  service::health::NodeFacts facts;
  facts.now = std::chrono::steady_clock::now();
  facts.wall = std::chrono::system_clock::now();
  for (const model::Gpu& gpu : inventory.gpus)
    if (auto one = service::health::FactsOf(gpu, {})) facts.gpus.push_back(*std::move(one));
  Health health = MayAskAgent(options) ? Remembered() : Health();
  health = OnLook(std::move(health), {}, facts);
  return HealthDocument(inventory, health, facts.now + std::chrono::minutes(1));
}

}  // namespace

base::Result<base::Value> LookAtHealth(const service::inventory::ReaderOptions& options) {
  if (!MayAskAgent(options)) return OwnLook(options);
  base::Result<Client> client = Client::Connect(agent::control::SocketPath(), kAgentPatience);
  if (client.ok()) return client->Call("health", base::Value::Map(), {.patience = kAgentPatience});
  const ErrorCode code = client.error().code();
  // Its socket is root's alone; whoever else asks gets what he may see himself.
  if (code == ErrorCode::kUnavailable || code == ErrorCode::kDenied) return OwnLook(options);
  return std::move(client).error();
}

}  // namespace partita::cli
