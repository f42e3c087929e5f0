#include "sim/tool/pci_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/files.h"
#include "base/unique_fd.h"
#include "sim/state/life.h"
#include "sim/tool/pci_registers.h"
#include "sim/tool/processes.h"

namespace partita::sim::tool {
namespace {

constexpr int kLookAroundMs = 1000;  // how long it outlives a node that was removed by hand

std::string LockPath(const std::string& root) { return root + "/sim/pci-server"; }

// A file of a GPU that is watched.
struct Watched {
  ino_t inode;
  std::uint32_t gpu;
  bool is_reset;
  base::UniqueFd fd;
};

class Server {
 public:
  explicit Server(Node& node) : node_(node) {}

  base::Result<void> Prepare() {
    events_.Reset(fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK,
                                O_RDONLY | O_CLOEXEC | O_LARGEFILE));
    if (!events_.valid()) return base::ErrnoError("watch files (fanotify)");
    const Machine& machine = node_.machine();
    for (std::uint32_t gpu = 0; gpu < machine.gpu_count; ++gpu) {
      const Board& board = machine.boards[gpu];
      TRY(registers, PciRegisters::Open(node_.root(), board));
      registers_.push_back(std::move(registers));
      TRY_VOID(Watch(gpu, "resource0", FAN_OPEN_PERM));
      TRY_VOID(Watch(gpu, "reset", FAN_OPEN_PERM | FAN_MODIFY | FAN_CLOSE));
    }
    return Lock();
  }

  // Until the driver or the node is no more what it was.
  void Serve() {
    while (IsNeeded()) {
      pollfd wait{events_.get(), POLLIN, 0};
      if (poll(&wait, 1, kLookAroundMs) > 0) TakeEvents();
    }
  }

 private:
  base::Result<void> Watch(std::uint32_t gpu, const char* name, std::uint64_t mask) {
    const std::string path = DeviceFile(node_.root(), node_.machine().boards[gpu], name);
    // Open before it is watched: its own opening would wait for itself.
    Watched file{0, gpu, (mask & FAN_MODIFY) != 0,
                 base::UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC))};
    struct stat status {};
    if (!file.fd.valid() || fstat(file.fd.get(), &status) != 0) {
      return base::ErrnoError("open " + path);
    }
    if (fanotify_mark(events_.get(), FAN_MARK_ADD, mask, AT_FDCWD, path.c_str()) != 0) {
      return base::ErrnoError("watch " + path);
    }
    file.inode = status.st_ino;
    files_.push_back(std::move(file));
    return {};
  }

  // How others find this process: EndLockOwner.
  base::Result<void> Lock() {
    const std::string path = LockPath(node_.root());
    lock_.Reset(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock_.valid()) return base::ErrnoError("open " + path);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    whole.l_start = 0;
    whole.l_len = 1;
    if (fcntl(lock_.get(), F_SETLK, &whole) != 0) return base::ErrnoError("lock " + path);
    return {};
  }

  bool IsNeeded() const {
    return base::Exists(node_.root() + "/sim/state") && node_.Snapshot()->driver_loaded == 0;
  }

  void TakeEvents() {
    alignas(fanotify_event_metadata) std::array<char, 4096> buffer{};
    ssize_t left = read(events_.get(), buffer.data(), buffer.size());
    const auto* event = reinterpret_cast<const fanotify_event_metadata*>(buffer.data());
    for (; FAN_EVENT_OK(event, left); event = FAN_EVENT_NEXT(event, left)) {
      const base::UniqueFd fd(event->fd);
      if (const Watched* file = Find(fd.get())) Handle(*file, event->mask);
      if ((event->mask & FAN_OPEN_PERM) == 0) continue;
      // Whoever opens waits for this answer.
      const fanotify_response answer{event->fd, FAN_ALLOW};
      if (write(events_.get(), &answer, sizeof answer) != sizeof answer) continue;
    }
  }

  const Watched* Find(int fd) const {
    struct stat status {};
    if (fd < 0 || fstat(fd, &status) != 0) return nullptr;
    for (const Watched& file : files_) {
      if (file.inode == status.st_ino) return &file;
    }
    return nullptr;
  }

  void Handle(const Watched& file, std::uint64_t mask) {
    const bool opened = (mask & FAN_OPEN_PERM) != 0;
    // A write is seen only after it returned, while a reset is over when its write returns. So the
    // firmware is down from the opening on, and whoever waits for it waits for the reset.
    if (file.is_reset && (mask & FAN_MODIFY) != 0) ResetIfAsked(file);
    Show(file.gpu, !(file.is_reset && opened));
  }

  void Show(std::uint32_t gpu, bool ready) {
    registers_[gpu].Show(node_.machine().boards[gpu], node_.Snapshot()->gpus[gpu], ready);
  }

  void ResetIfAsked(const Watched& file) {
    if (!TakeReset(file.fd.get())) return;
    const auto changed = node_.Change([&](const Machine& machine, Slot& slot) {
      if (slot.driver_loaded != 0) return base::Result<void>();
      const auto requested = registers_[file.gpu].Requested(machine.boards[file.gpu]);
      if (requested) slot.gpus[file.gpu].mig_pending = *requested ? 1 : 0;
      ResetGpu(machine, slot, file.gpu);
      return base::Result<void>();
    });
    if (!changed.ok()) _exit(1);  // the state is gone, and with it everything there was to answer
  }

  Node& node_;
  base::UniqueFd events_, lock_;
  std::vector<Watched> files_;
  std::vector<PciRegisters> registers_;  // by GPU
};

// The child: never returns. Tells `answer` when it is ready, or why it never will be.
[[noreturn]] void Run(Node& node, int answer) {
  setsid();
  if (chdir("/") != 0) _exit(1);
  std::signal(SIGHUP, SIG_IGN);
  Server server(node);
  const base::Result<void> ready = server.Prepare();
  const std::string text = ready.ok() ? "ready" : ready.error().ToString();
  const bool told = write(answer, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!told || !ready.ok()) _exit(1);
  close(answer);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  server.Serve();
  _exit(0);
}

base::Result<void> StartProcess(Node& node) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::ErrnoError("make a pipe");
  const base::UniqueFd answer(ends[0]);
  base::UniqueFd question(ends[1]);
  const pid_t child = fork();
  if (child < 0) return base::ErrnoError("start the process that answers for the GPUs");
  if (child == 0) Run(node, question.get());
  question.Reset();
  std::array<char, 1024> text{};
  const ssize_t size = read(answer.get(), text.data(), text.size());
  const std::string_view said(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  if (said == "ready") return {};
  return base::MakeError(base::ErrorCode::kUnavailable, "no process answers for the GPUs: {}",
                         said.empty() ? "it ended at once" : said)
      .WithHint("MIG modes cannot be changed through PCI on this node");
}

}  // namespace

base::Result<void> StartPciServer(Node& node) {
  TRY_VOID(EndPciServer(node.root()));
  TRY_VOID(MakeAllRegisters(node.root(), node.machine(), *node.Snapshot()));
  base::Result<void> started = StartProcess(node);
  // Registers that nobody answers for would mislead.
  if (!started.ok()) TRY_VOID(RemoveAllRegisters(node.root(), node.machine()));
  return started;
}

base::Result<void> EndPciServer(const std::string& root) {
  return EndLockOwner(LockPath(root), 0, SIGTERM, kEndTimeoutMs);
}

base::Result<void> HandOverRegisters(const Node& node, Slot& slot) {
  if (slot.driver_loaded != 0) return {};
  TRY_VOID(EndPciServer(node.root()));
  AdoptRequests(node.root(), node.machine(), slot);
  return RemoveAllRegisters(node.root(), node.machine());
}

pid_t PciServer(const std::string& root) { return LockOwner(LockPath(root), 0); }

}  // namespace partita::sim::tool
