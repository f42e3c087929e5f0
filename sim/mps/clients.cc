#include "sim/mps/clients.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "sim/state/mig.h"

namespace partita::sim::mps {
namespace {

constexpr std::size_t kMostSinceVolta = 48, kMostBefore = 16;
constexpr std::size_t kShownUuid = 22;  // characters

std::string Row(std::string_view pid,
                std::string_view number,
                std::string_view server,
                std::string_view device,
                std::string_view space,
                std::string_view command) {
  return fmt::format("{:<10}{:<10}{:<15}{:<26}{:<15}{:<15}\n", pid, number, server, device, space,
                     command);
}

}  // namespace

void Clients::Add(Connection connection) {
  if (connection.context != 0) connection.number = ++numbers_;
  connections_.push_back(std::move(connection));
}

Connection Clients::Remove(int fd) {
  const auto found = std::ranges::find(connections_, fd, &Connection::fd);
  if (found == connections_.end()) return {};
  Connection gone = std::move(*found);
  connections_.erase(found);
  return gone;
}

const Connection* Clients::Find(int fd) const {
  const auto found = std::ranges::find(connections_, fd, &Connection::fd);
  return found == connections_.end() ? nullptr : &*found;
}

std::vector<Connection> Clients::Contexts() const {
  std::vector<Connection> contexts;
  for (const Connection& one : connections_) {
    if (one.context != 0) contexts.push_back(one);
  }
  return contexts;
}

std::vector<Connection> Clients::ContextsOf(std::uint32_t pid) const {
  std::vector<Connection> contexts = Contexts();
  std::erase_if(contexts, [&](const Connection& one) { return one.pid != pid; });
  return contexts;
}

std::size_t Clients::CountOn(const cuda::DeviceRef& device) const {
  return static_cast<std::size_t>(std::ranges::count_if(connections_, [&](const Connection& one) {
    return one.context != 0 && one.device == device;
  }));
}

bool Clients::HasProcess(std::uint32_t pid) const {
  return std::ranges::find(connections_, pid, &Connection::pid) != connections_.end();
}

std::string Clients::ProcessList() const {
  std::string text;
  std::vector<std::uint32_t> told;
  for (const Connection& one : Contexts()) {
    if (std::ranges::find(told, one.pid) != told.end()) continue;
    told.push_back(one.pid);
    text += fmt::format("{}\n", one.pid);
  }
  return text;
}

std::string Clients::Rows(const Machine& machine, std::uint32_t server_pid) const {
  std::string text;
  for (const Connection& one : Contexts()) {
    char uuid[kUuidSize];
    cuda::NameUuid(machine, one.device, uuid);
    text += Row(fmt::format("{}", one.pid), fmt::format("{}", one.number),
                fmt::format("{}", server_pid), std::string_view(uuid).substr(0, kShownUuid),
                fmt::format("{}", one.pid_ns), one.name);
  }
  return text;
}

std::string Clients::ListOn(const cuda::DeviceRef& device) const {
  std::string text;
  for (const Connection& one : Contexts()) {
    if (one.device == device) text += fmt::format("{}.{}\n", one.pid, one.context);
  }
  return text;
}

std::string PsHead() { return Row("PID", "ID", "SERVER", "DEVICE", "NAMESPACE", "COMMAND"); }

std::string Named(const Connection& connection) {
  return fmt::format("{{PID: {}, Context ID: {}}}", connection.pid, connection.context);
}

std::vector<std::string> FaultLines(const Connection& origin,
                                    const std::vector<Connection>& contexts,
                                    const std::vector<std::uint32_t>& ordinals) {
  std::vector<std::string> lines = {
      fmt::format("Client {{PID: {}, Context: {}}} encountered a fatal GPU error.", origin.pid,
                  origin.context),
      "Server is handling a fatal GPU error."};
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    lines.push_back(
        fmt::format("Client {} on device {} to be torn down", Named(contexts[i]), ordinals[i]));
  }
  for (const Connection& one : contexts) {
    lines.push_back(fmt::format(
        "All clients belonging to error trigging process {} will be torn down", one.pid));
    lines.push_back(fmt::format("Client {} on the error-trigging process {} to be torn down",
                                Named(one), one.pid));
  }
  lines.emplace_back("The following devices will be reset:");
  std::vector<std::uint32_t> devices = ordinals;
  std::ranges::sort(devices);
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  for (const std::uint32_t ordinal : devices) lines.push_back(fmt::format("{}", ordinal));
  lines.emplace_back("The following client process have a sticky error set:");
  for (const Connection& one : contexts) lines.push_back(fmt::format("{}", one.pid));
  return lines;
}

std::size_t MostClients(const Machine& machine, const Slot& slot, const cuda::DeviceRef& device) {
  const Board& board = machine.boards[device.gpu];
  const std::size_t most = board.compute_major >= 7 ? kMostSinceVolta : kMostBefore;
  if (device.gpu_instance == kNone || board.compute_slices == 0) return most;
  const GpuInstance& instance = slot.gpus[device.gpu].instances[device.gpu_instance];
  const std::size_t share = most * instance.compute[device.compute_instance].size;
  return std::max<std::size_t>(share / board.compute_slices, 1);
}

}  // namespace partita::sim::mps
