#include "sim/tool/start_program.h"

#include <unistd.h>

#include <cerrno>

#include "sim/tool/commands.h"

namespace partita::sim::tool {

int TryProgram(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return errno;
}

void StartProgram(const std::vector<std::string>& command) {
  const int error = TryProgram(command);
  Report(base::ErrnoError("run " + command.front(), error));
  _exit(error == ENOENT ? 127 : 126);
}

}  // namespace partita::sim::tool
