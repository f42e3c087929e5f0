#include "cli/status/node_source.h"

#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "agent/control/control_client.h"
#include "cli/report_error.h"
#include "model/inventory_wire.h"

namespace partita::cli {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

base::Result<model::StaleGpu> ReadStale(const Value& value) {
  model::StaleGpu stale;
  const Value* why = value.Find("why");
  if (why == nullptr || why->kind() != Value::Kind::kString)
    return Error(ErrorCode::kInvalid, "why is not a text");
  stale.why = why->AsString();
  if (const Value* seconds = value.Find("seconds")) {
    if (seconds->kind() != Value::Kind::kUnsigned)
      return Error(ErrorCode::kInvalid, "seconds is not a whole number");
    stale.seconds = seconds->AsUnsigned();
  }
  return stale;
}

base::Result<model::StaleGpus> ReadStaleGpus(const Value& value) {
  if (value.kind() != Value::Kind::kMap) return Error(ErrorCode::kInvalid, "it is not a map");
  model::StaleGpus gpus;
  for (const auto& [address, stale] : value.members()) {
    TRY(pci, model::PciAddress::Parse(address));
    TRY(read, ReadStale(stale), "{}", address);
    gpus.emplace(pci, std::move(read));
  }
  return gpus;
}

// Nothing: no agent runs here.
base::Result<std::optional<NodeLook>> AskAgent(const NodeSource::Agent& agent) {
  base::Result<agent::control::Client> client =
      agent::control::Client::Connect(agent.socket, agent.patience);
  if (!client.ok()) {
    // Its socket is root's alone; whoever else asks for the status gets what he may see himself.
    if (client.error().code() == ErrorCode::kUnavailable ||
        client.error().code() == ErrorCode::kDenied) {
      return std::optional<NodeLook>();
    }
    return std::move(client).error();
  }
  TRY(answer,
      client->Call("status", Value::Map().Set("parts", "all"), {.patience = agent.patience}));
  TRY(look, ReadStatusAnswer(answer), "the agent's answer");
  return std::optional(std::move(look));
}

}  // namespace

base::Result<NodeLook> ReadStatusAnswer(const Value& answer) {
  const Value* inventory = answer.Find("inventory");
  if (inventory == nullptr) return Error(ErrorCode::kInvalid, "inventory is missing");
  NodeLook look;
  TRY(read, model::FromWire(*inventory));
  look.inventory = std::move(read);
  if (const Value* stale = answer.Find("stale")) {
    TRY(gpus, ReadStaleGpus(*stale), "stale");
    look.stale = std::move(gpus);
  }
  if (const Value* mps = answer.Find("mps")) {
    TRY(domains, model::ReadMpsDomains(*mps));
    look.mps = std::move(domains);
  }
  return look;
}

NodeLook NodeSource::Look() {
  if (!agent_) return {own_look_()};
  base::Result<std::optional<NodeLook>> asked = AskAgent(*agent_);
  if (!asked.ok()) {
    const Error& error = asked.error();
    const std::string hint = error.hint().empty() ? "" : fmt::format(" ({})", error.hint());
    Warn(fmt::format("{}{}; looked without the agent", error.ToString(), hint));
    agent_.reset();
    return {own_look_()};
  }
  if (*asked) return **std::move(asked);
  return {own_look_()};
}

bool MayAskAgent(const service::inventory::ReaderOptions& options) {
  return options.root == "/" && options.driver_root == "/" && options.library.empty();
}

NodeSource SourceFor(const service::inventory::ReaderOptions& options) {
  std::optional<NodeSource::Agent> agent;
  if (MayAskAgent(options)) {
    agent = NodeSource::Agent{};
    agent->socket = agent::control::SocketPath();
  }
  // Made when it is first needed: it opens a session with the driver and keeps it.
  auto reader = std::make_shared<std::optional<service::inventory::Reader>>();
  return {std::move(agent), [options, reader] {
            if (!*reader) reader->emplace(options);
            return (*reader)->Read();
          }};
}

}  // namespace partita::cli
