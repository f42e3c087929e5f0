#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "cli/cdi/node.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"
#include "cli/run/commands.h"
#include "service/cdi/jit.h"
#include "service/run/bundle.h"
#include "service/run/container.h"
#include "service/run/grant.h"
#include "service/run/process_view.h"

namespace partita::cli {

namespace {

using base::ErrorCode;
using base::Invocation;
using base::Result;

// As shells do it.
constexpr int kExitCannotRun = 126;
constexpr int kExitNoCommand = 127;

// As the driver tells it now. What that opened and started is closed again.
struct Node {
  cdi::NodeDevices devices;
  service::cdi::HookSet hooks;
  service::run::Grant grant;
};

Result<Node> ReadNode(const Invocation& invocation) {
  TRY(common, ReadCommandOptions(invocation));
  if (common.reader.root != "/") {
    return base::MakeError(ErrorCode::kInvalid, "--host-root {}: programs run on this machine",
                           base::Quoted(common.reader.root));
  }
  TRY(ids, service::run::ReadIds(invocation.GetAll("gpu")), "--gpu");
  TRY(hooks, HookSetOf(invocation));
  TRY(inventory, ReadInventory(common));
  TRY(files, service::cdi::ReadNodeFiles(NodeFilesOptionsOf(invocation, common), inventory));
  cdi::NodeDevices devices = service::cdi::MakeNodeDevices(inventory, files, hooks);
  TRY(grant, service::run::GrantOf(ids, devices), "--gpu");
  return Node{std::move(devices), std::move(hooks), std::move(grant)};
}

// With a directory in PATH that it may not enter, a program that is in none of them is "denied".
bool IsInPath(const std::string& command) {
  const char* path = std::getenv("PATH");
  if (command.find('/') != std::string::npos || path == nullptr) return true;
  const std::vector<std::string_view> directories = base::Split(path, ':');
  return std::any_of(directories.begin(), directories.end(), [&](std::string_view directory) {
    return base::Exists(base::JoinPath(directory, command));
  });
}

// Only returns where it cannot.
int Execute(std::vector<std::string> command) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  int reason = errno;
  if (reason == EACCES && !IsInPath(command.front())) reason = ENOENT;
  ReportError(base::ErrnoError("run " + base::Quoted(command.front()), reason));
  return reason == ENOENT ? kExitNoCommand : kExitCannotRun;
}

int RunHere(const Invocation& invocation) {
  const Result<Node> node = ReadNode(invocation);
  if (!node.ok()) return ReportError(node.error());
  const Result<std::string> lacks = service::run::EnterView(node->grant);
  if (!lacks.ok()) return ReportError(lacks.error());
  if (!lacks->empty()) Warn("other devices are hidden, but not refused: " + *lacks);
  return Execute(invocation.rest());
}

struct Container {
  std::string runc;
  service::run::Image image;
};

// What can be told before anybody asks the driver.
Result<Container> ReadContainer(const Invocation& invocation, const std::string& directory) {
  TRY_VOID(service::run::CheckWords(invocation.rest()), "--image");
  TRY(image, service::run::OpenImage(directory), "--image");
  if (geteuid() != 0) {
    return base::MakeError(ErrorCode::kDenied, "--image: only root may start containers here")
        .WithHint("without --image the program runs on this machine's own files, also for users");
  }
  TRY(runc, service::run::FindRunc(), "--image");
  return Container{std::move(runc), std::move(image)};
}

// Where CDI mounts something: nvidia-smi is in no image.
std::vector<std::string> AddedFiles(const cdi::NodeDevices& node) {
  std::vector<std::string> files;
  for (const cdi::Mount& mount : node.spec.edits.mounts) files.push_back(mount.container_path);
  return files;
}

int RunInContainer(const Invocation& invocation, const std::string& directory) {
  const Result<Container> container = ReadContainer(invocation, directory);
  if (!container.ok()) return ReportError(container.error());
  const Result<Node> node = ReadNode(invocation);
  if (!node.ok()) return ReportError(node.error());
  const std::vector<std::string>& command = invocation.rest();
  const Result<void> there =
      service::run::CheckCommand(container->image.root, command.front(), AddedFiles(node->devices));
  if (!there.ok()) {
    ReportError(there.error());
    return there.error().code() == ErrorCode::kNotFound ? kExitNoCommand : kExitCannotRun;
  }
  const Result<std::vector<std::string>> runc = service::run::PrepareContainer(
      container->runc, container->image, command, node->grant, node->devices, node->hooks);
  if (!runc.ok()) return ReportError(runc.error());
  return Execute(*runc);
}

int RunProgram(const Invocation& invocation) {
  if (invocation.rest().empty()) {
    return ReportError(base::MakeError(ErrorCode::kInvalid, "run what?")
                           .WithHint("partita run --gpu 0 -- COMMAND…"));
  }
  const std::optional<std::string> image = invocation.Get("image");
  return image ? RunInContainer(invocation, *image) : RunHere(invocation);
}

}  // namespace

base::Command RunCommand() {
  return {
      .name = "run",
      .summary = "Run a program that sees only the GPUs or MIG devices that it is given",
      .description =
          "The program has a /dev with these devices and the usual nodes, and a "
          "/proc/driver/nvidia of these devices. Everything else is this machine's. It takes the "
          "place of partita: process id, signals and exit status are its own.\n\n"
          "As root, a device cgroup refuses every other device, and the right to make nodes is "
          "given up. Without root, a user namespace hides the others.\n\n"
          "With --image it runs in a container of runc's, as root, with few rights: the "
          "directory is its root, the driver's files are added, the network is this machine's. "
          "What it writes is kept in memory and gone at its end: the directory stays as it is.\n\n"
          "Exit status: the program's own; 127 where it is not found, 126 where it cannot be "
          "run; else as for every command of partita.",
      .options = {{.name = "gpu",
                   .letter = 'g',
                   .value_name = "ID",
                   .help = "these (0,1:2): index, GPU:SLOT, UUID or PCI address; or all, or none",
                   .suggestions = {"all", "none"},
                   .repeatable = true,
                   .required = true},
                  {.name = "image",
                   .value_name = "DIR",
                   .help =
                       "in a container with this root: DIR/rootfs where there is one, else DIR"},
                  DevRootOption(),
                  HookPathOption(),
                  LdconfigPathOption()},
      .examples = {{"partita run --gpu 0 -- python3 train.py", "on the first GPU"},
                   {"partita run --gpu 0:1 -- nvidia-smi -L", "on a slice of it"},
                   {"partita run --gpu 0,1 -- bash", "a shell with two GPUs"},
                   {"partita run --gpu 0:1 --image /srv/cuda -- nvidia-smi",
                    "in a container, as root"}},
      .takes_rest = true,
      .rest_name = "COMMAND",
      .run = RunProgram,
  };
}

}  // namespace partita::cli
