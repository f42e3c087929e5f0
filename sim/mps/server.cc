#include "sim/mps/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "base/files.h"
#include "base/text.h"
#include "sim/cuda/share.h"
#include "sim/state/access.h"
#include "sim/state/mig.h"
#include "sim/state/use.h"

namespace partita::sim::mps {
namespace {

std::string CommandOf(std::uint32_t pid, const char* otherwise) {
  const auto command = base::ReadFile(fmt::format("/proc/{}/cmdline", pid));
  if (pid == 0 || !command.ok() || command->empty()) return otherwise;
  return command->substr(0, command->find('\0'));
}

std::uint64_t PidSpaceOf(std::uint32_t pid, std::uint64_t otherwise) {
  const auto link = base::ReadLink(fmt::format("/proc/{}/ns/pid", pid));
  if (pid == 0 || !link.ok() || !link->starts_with("pid:[")) return otherwise;
  return std::strtoull(link->c_str() + 5, nullptr, 10);
}

void SendText(int fd, Kind kind, const std::string& text) {
  TextFrame frame{};
  frame.kind = kind;
  const std::size_t size = std::min(text.size(), kMostText);
  text.copy(frame.text, size);
  static_cast<void>(Send(fd, &frame, offsetof(TextFrame, text) + size));
}

}  // namespace

Server::Server(base::UniqueFd link, Settings settings, const std::string& pipe_directory)
    : link_(std::move(link)),
      settings_(std::move(settings)),
      log_(pipe_directory),
      pid_(static_cast<std::uint32_t>(getpid())) {}

void Server::Say(const std::string& text) { log_.Say("Server", static_cast<pid_t>(pid_), text); }

std::string Server::NameOf(std::uint32_t ordinal) const {
  char name[128];
  store_.Read([&](const Slot& slot) {
    cuda::NameDevice(store_.machine(), slot, devices_.devices[ordinal], name);
    return 0;
  });
  return name;
}

std::string Server::UuidOf(std::uint32_t ordinal) const {
  char uuid[kUuidSize];
  cuda::NameUuid(store_.machine(), devices_.devices[ordinal], uuid);
  return uuid;
}

std::uint32_t Server::OrdinalOf(const cuda::DeviceRef& device) const {
  for (std::uint32_t i = 0; i < devices_.count; ++i) {
    if (devices_.devices[i] == device) return i;
  }
  return kNone;
}

bool Server::MakeContexts() {
  for (std::uint32_t i = 0; i < devices_.count; ++i) {
    if (uses_[i].held) continue;
    Say(fmt::format("Creating server context on device {} ({})", i, NameOf(i)));
    Holder self{};
    self.kind = HolderKind::kCompute;
    self.gpu = devices_.devices[i].gpu;
    self.gpu_instance = devices_.devices[i].gpu_instance;
    self.compute_instance = devices_.devices[i].compute_instance;
    self.memory_bytes = cuda::kServerContextBytes;
    std::strcpy(self.name, "nvidia-cuda-mps-server");
    uses_[i].held = BeginUse(store_, holders_, self, &uses_[i].holder) == UseStatus::kDone;
    if (!uses_[i].held) {
      Say(fmt::format("Failed to create the server context on device {}", i));
      return false;
    }
  }
  return true;
}

void Server::DestroyContexts() {
  for (std::uint32_t i = 0; i < devices_.count; ++i) {
    if (!uses_[i].held) continue;
    Say(fmt::format("Destroy server context on device {} ({})", i, NameOf(i)));
    EndUse(store_, holders_, uses_[i].holder);
    uses_[i].held = false;
  }
}

bool Server::Start() {
  log_.Say("Other", static_cast<pid_t>(pid_), "Startup");
  log_.Say("Other", static_cast<pid_t>(pid_),
           fmt::format("Connecting to control daemon on socket: {}/control", PipeDirectory()));
  log_.Say("Other", static_cast<pid_t>(pid_), "Initializing server process");
  char path[kMaxPath];
  static constexpr char kOwn = 0;
  if (!LocateState(&kOwn, path) || Store::Open(path, Access::kReadWrite, &store_) != 0) {
    Say("There is no driver");
    return false;
  }
  holders_ = OpenHolders(store_.root());
  if (cuda::ListOwnDevices(store_, &devices_) != CUDA_SUCCESS || holders_ < 0) {
    Say("There is no device to serve");
    return false;
  }
  uses_.resize(devices_.count);
  limits_.resize(devices_.count);
  if (!MakeContexts()) return false;
  Say(fmt::format("Created anonymous shared memory region mps.shm.{}.{}", getuid(), pid_));
  const Machine& machine = store_.machine();
  Say(fmt::format("CUDA MPS Server for Linux/Unix. Binary version: {}", machine.cuda_version));
  Say(fmt::format("Display Driver version: {}", std::atoi(machine.driver_version)));
  Say(fmt::format("Active Threads Percentage set to {}", settings_.Percentage()));
  for (const Limit& limit : settings_.limits()) {
    ObeyLimit({"limit", limit.device, fmt::format("{}M", limit.bytes >> 20)});
  }
  Say("Server Priority set to 0");
  Say("Server has started");
  SendText(link_.get(), Kind::kReady, "");
  return true;
}

void Server::Run() {
  while (!leaving_) {
    std::vector<pollfd> wait = {{link_.get(), POLLIN, 0}};
    for (const Connection& one : clients_.all()) wait.push_back({one.fd, POLLIN, 0});
    if (poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 1; i < wait.size(); ++i) {
      if (wait[i].revents != 0) HearClient(wait[i].fd);
    }
    if (wait[0].revents != 0) HearDaemon();
  }
}

void Server::HearDaemon() {
  static TextFrame frame;
  frame = {};
  int fd = -1;
  const long size = Receive(link_.get(), &frame, sizeof frame, 0, &fd);
  if (size <= 0) {
    leaving_ = true;
    return;
  }
  if (frame.kind == Kind::kNewClient && size == static_cast<long>(sizeof(NewClient)) && fd >= 0) {
    NewClient request;
    std::memcpy(&request, &frame, sizeof request);
    Take(request, fd);
    return;
  }
  if (fd >= 0) close(fd);
  if (frame.kind != Kind::kRequest) return;
  const std::size_t length = static_cast<std::size_t>(size) - offsetof(TextFrame, text);
  SendText(link_.get(), Kind::kAnswer, Obey(std::string(frame.text, length)));
}

std::int32_t Server::Admit(const Connection& client) {
  if (client.context == 0) return CUDA_SUCCESS;
  if (OrdinalOf(client.device) == kNone) return CUDA_ERROR_INVALID_DEVICE;
  const std::size_t most = store_.Read(
      [&](const Slot& slot) { return MostClients(store_.machine(), slot, client.device); });
  return clients_.CountOn(client.device) < most ? CUDA_SUCCESS : CUDA_ERROR_MPS_MAX_CLIENTS_REACHED;
}

void Server::Answer(int fd, std::int32_t code) {
  ClientAnswer answer{};
  answer.kind = Kind::kClientAnswer;
  answer.code = code;
  answer.server_pid = pid_;
  answer.percentage = settings_.percentage();
  answer.devices = devices_;
  for (std::uint32_t i = 0; i < devices_.count; ++i) answer.limits[i] = limits_[i];
  static_cast<void>(Send(fd, &answer, sizeof answer));
}

void Server::Take(const NewClient& request, int fd) {
  Connection client;
  client.fd = fd;
  client.pid = request.pid;
  client.context = request.hello.context;
  client.device = request.hello.device;
  client.pid_ns = PidSpaceOf(request.pid, request.hello.pid_ns);
  client.name = CommandOf(request.pid, request.hello.name);
  Say(fmt::format("Received new client request for {}", Named(last_)));
  last_ = client;
  std::int32_t code = Admit(client);
  // After a fault the context went with the last client.
  if (code == CUDA_SUCCESS && !MakeContexts()) code = CUDA_ERROR_MPS_CONNECTION_FAILED;
  if (code != CUDA_SUCCESS) {
    Answer(fd, code);
    close(fd);
    return;
  }
  clients_.Add(client);
  Say(fmt::format("Client {} connected", Named(client)));
  Say(fmt::format("Creating worker thread for client {}", Named(client)));
  if (client.context != 0) {
    const std::uint32_t ordinal = OrdinalOf(client.device);
    Say(fmt::format("Device {} (uuid {}) is associated", NameOf(ordinal), UuidOf(ordinal)));
    Say(fmt::format("Status of client {} is ACTIVE", Named(client)));
  }
  Answer(fd, CUDA_SUCCESS);
}

void Server::HearClient(int fd) {
  Notice notice{};
  const long size = Receive(fd, &notice, sizeof notice, MSG_DONTWAIT);
  if (size == -EAGAIN) return;
  const Connection* client = clients_.Find(fd);
  if (size != static_cast<long>(sizeof notice) || notice.kind != Kind::kLaunch ||
      client == nullptr || client->context == 0) {
    Drop(fd);
    return;
  }
  if (notice.code != 0 || fault_) Fault(*client);
  const Notice answer{Kind::kNotice, fault_ ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS};
  static_cast<void>(Send(fd, &answer, sizeof answer));
}

void Server::Drop(int fd) {
  const Connection gone = clients_.Remove(fd);
  close(fd);
  Say(fmt::format("Server failed to recevie command with status 806, assuming client {} exit",
                  Named(gone)));
  if (gone.context != 0) {
    const std::size_t left = clients_.Contexts().size();
    Say(fmt::format("Client {} exiting. Number of active client contexts is {}.", Named(gone),
                    left));
    if (left == 0 && fault_) DestroyContexts();
  }
  if (!clients_.HasProcess(gone.pid)) Say(fmt::format("Client process {} disconnected", gone.pid));
}

// All clients of the server share the GPU's address space: all of them end with the one.
void Server::Fault(const Connection& origin) {
  const std::vector<Connection> contexts = clients_.Contexts();
  std::vector<std::uint32_t> ordinals;
  ordinals.reserve(contexts.size());
  for (const Connection& one : contexts) ordinals.push_back(OrdinalOf(one.device));
  for (const std::string& line : FaultLines(origin, contexts, ordinals)) Say(line);
  fault_ = true;
  const Notice notice{Kind::kNotice, CUDA_ERROR_ILLEGAL_ADDRESS};
  for (const Connection& one : contexts) {
    if (one.fd != origin.fd) static_cast<void>(Send(one.fd, &notice, sizeof notice));
  }
}

std::string Server::FaultOf(std::uint32_t pid) {
  const std::vector<Connection> contexts =
      pid == 0 ? clients_.Contexts() : clients_.ContextsOf(pid);
  if (contexts.empty()) return "no such client";
  Connection origin = contexts.front();
  origin.fd = -1;  // it is told like the others: no call of its own waits for the answer
  Fault(origin);
  return "";
}

std::string Server::Terminate(std::uint32_t pid) {
  const std::vector<Connection> contexts = clients_.ContextsOf(pid);
  if (contexts.empty()) return fmt::format("Invalid process {}!\n1\n", pid);
  const Notice notice{Kind::kNotice, CUDA_ERROR_MPS_CLIENT_TERMINATED};
  for (const Connection& one : contexts) {
    Say(fmt::format("MPS server requesting client {} to exit", Named(one)));
    static_cast<void>(Send(one.fd, &notice, sizeof notice));
  }
  Say("Client termination succeeded.");
  return "0\n";
}

// By ordinal or UUID: here, unlike with the daemon, both are one setting.
std::string Server::ObeyLimit(const std::vector<std::string>& words) {
  const std::string device = words.size() > 1 ? words[1] : "";
  const std::uint64_t bytes = words.size() > 2 ? cuda::ParseLimit(words[2].c_str()) : 0;
  const bool set = words.size() > 2;
  if (set) {
    Say(fmt::format("Device pinned memory limit for device {} set to {:#x} bytes", device, bytes));
  }
  for (std::uint32_t i = 0; i < devices_.count; ++i) {
    if (device != fmt::format("{}", i) && device != UuidOf(i)) continue;
    if (set) limits_[i] = bytes;
    char text[32];
    cuda::WriteLimit(limits_[i], text, sizeof text);
    return set || text[0] == '\0' ? "" : fmt::format("{}\n", text);
  }
  return "";
}

// What driver 580 calls the address of a GPU here has two parts; of one at 0000:00:06.0 both are 0.
std::string Server::DeviceList() const {
  std::string text;
  for (std::uint32_t i = 0; i < devices_.count; ++i) {
    const std::string clients = clients_.ListOn(devices_.devices[i]);
    if (clients.empty()) continue;
    const PciFunction& pci = store_.machine().boards[devices_.devices[i].gpu].pci;
    text += fmt::format("[{}] {:02x}:{:02x}.0, {}\n", i, pci.domain, pci.bus, NameOf(i));
    text += clients;
  }
  return text;
}

std::string Server::Obey(const std::string& request) {
  std::vector<std::string> words;
  for (const std::string_view word : base::SplitWords(request)) words.emplace_back(word);
  const std::string& verb = words.front();
  const auto pid = [&] {
    return static_cast<std::uint32_t>(words.size() > 1 ? base::ParseUnsigned(words[1]).value_or(0)
                                                       : 0);
  };
  if (verb == "status") return fault_ ? "FAULT\n" : "ACTIVE\n";
  if (verb == "clients") return clients_.ProcessList();
  if (verb == "ps") return clients_.Rows(store_.machine(), pid_);
  if (verb == "devices") return DeviceList();
  if (verb == "limit") return ObeyLimit(words);
  if (verb == "terminate") return Terminate(pid());
  if (verb == "fault") return FaultOf(pid());
  if (verb == "percentage") {
    if (words.size() > 1) settings_.SetPercentage(words[1]);
    return settings_.Percentage() + "\n";
  }
  // "shutdown", or "exit": whoever is still there.
  Say("Server has been notified to shutdown");
  if (verb == "shutdown" && !clients_.all().empty()) {
    Say(fmt::format("Server was unable to shutdown due to {} active clients",
                    clients_.all().size()));
    return fmt::format("{}", clients_.all().size());
  }
  Say("Waiting for current clients to finish");
  Say("Exiting");
  leaving_ = true;
  return "0";
}

}  // namespace partita::sim::mps
