// The clients of one server as values: who is connected, how lists show them, and what a fault
// does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cuda/devices.h"
#include "sim/state/layout.h"

namespace partita::sim::mps {

// One connection: the process itself (context 0) or one of its contexts.
struct Connection {
  int fd = -1;
  std::uint32_t pid = 0;
  std::uint32_t context = 0;
  std::uint32_t number = 0;  // of contexts, from 1, in the order of coming: the ID of `ps`
  cuda::DeviceRef device{};
  std::uint64_t pid_ns = 0;
  std::string name;
};

class Clients {
 public:
  void Add(Connection connection);
  // The connection, which is no more in the list.
  Connection Remove(int fd);

  [[nodiscard]] const std::vector<Connection>& all() const { return connections_; }
  [[nodiscard]] const Connection* Find(int fd) const;
  // Contexts, all or of one process or device.
  [[nodiscard]] std::vector<Connection> Contexts() const;
  [[nodiscard]] std::vector<Connection> ContextsOf(std::uint32_t pid) const;
  [[nodiscard]] std::size_t CountOn(const cuda::DeviceRef& device) const;
  [[nodiscard]] bool HasProcess(std::uint32_t pid) const;

  // A line a process that has a context, as get_client_list.
  [[nodiscard]] std::string ProcessList() const;
  // Rows of `ps`, without the head.
  [[nodiscard]] std::string Rows(const Machine& machine, std::uint32_t server_pid) const;
  // "616.1" a line: process and context.
  [[nodiscard]] std::string ListOn(const cuda::DeviceRef& device) const;

 private:
  std::vector<Connection> connections_;
  std::uint32_t numbers_ = 0;
};

// The head of `ps`.
[[nodiscard]] std::string PsHead();

// "{PID: 616, Context ID: 1}"
[[nodiscard]] std::string Named(const Connection& connection);

// What the server's log says when a context faulted, line by line, as driver 580 words it.
[[nodiscard]] std::vector<std::string> FaultLines(const Connection& origin,
                                                  const std::vector<Connection>& contexts,
                                                  const std::vector<std::uint32_t>& ordinals);

// Contexts that a device takes: 48 from compute capability 7.0 on, before it 16; of a MIG device
// its share of the compute slices.
[[nodiscard]] std::size_t MostClients(const Machine& machine,
                                      const Slot& slot,
                                      const cuda::DeviceRef& device);

}  // namespace partita::sim::mps
