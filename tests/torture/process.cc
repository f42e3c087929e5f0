#include "process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

namespace partita::torture {

using base::ErrorCode;
using base::MakeError;
using base::Result;

Result<std::string> RunProgram(const std::vector<std::string>& command) {
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) return base::ErrnoError("pipe");
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return base::ErrnoError("fork");
  if (pid == 0) {
    dup2(output[1], STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(output[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(output[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(output[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::string line;
    for (const std::string& word : command) line += word + " ";
    return MakeError(ErrorCode::kInternal, "{}ended with {:#x}: {}", line, status, text);
  }
  return text;
}

Result<ScratchNode> ScratchNode::Up(const std::string& build, const std::string& file) {
  char directory[] = "/dev/shm/partita-torture-XXXXXX";
  if (mkdtemp(directory) == nullptr) return base::ErrnoError("create a directory in /dev/shm");
  ScratchNode node(directory, std::string(directory) + "/" + kName, build + "/bin/partita-sim");
  setenv("PARTITA_SIM_DIR", directory, 1);
  setenv("PARTITA_SIM_STATE", node.state().c_str(), 1);
  // No driver stands behind the nodes of a scratch root, and no namespace shows them.
  setenv("PARTITA_SIM_VISIBILITY", "off", 1);
  TRY(printed, RunProgram({node.tool_, "up", "--node", kName, "--file", file}));
  node.up_ = true;
  return node;
}

ScratchNode::ScratchNode(std::string directory, std::string root, std::string tool)
    : directory_(std::move(directory)), root_(std::move(root)), tool_(std::move(tool)) {}

ScratchNode::ScratchNode(ScratchNode&& other) noexcept
    : directory_(std::exchange(other.directory_, "")),
      root_(std::move(other.root_)),
      tool_(std::move(other.tool_)),
      up_(other.up_) {}

ScratchNode::~ScratchNode() {
  if (directory_.empty()) return;
  // The directory goes in any case, also when the node refuses to.
  if (up_) static_cast<void>(RunProgram({tool_, "down", "--node", kName, "--force"}));
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace partita::torture
