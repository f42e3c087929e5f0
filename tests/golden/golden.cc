#include "tests/golden/golden.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

namespace partita::golden {

namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool Updating() {
  const char* wish = std::getenv("PARTITA_UPDATE_GOLDEN");
  if (wish != nullptr && std::string_view(wish) == "1") return true;
  // GoogleTest's main leaves flags that it does not know, but keeps them to itself.
  const std::string words = ReadAll("/proc/self/cmdline");
  return words.find(std::string_view("\0--update-golden\0", 17)) != std::string::npos;
}

}  // namespace

void ExpectGolden(const std::string& name, std::string_view text) {
  const std::string path = std::string(PARTITA_GOLDEN_DIR) + "/" + name;
  if (Updating()) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    ASSERT_TRUE(file.good()) << "cannot write " << path;
    return;
  }
  const std::string wanted = ReadAll(path);
  if (wanted == text) return;
  const std::vector<std::string> before = Lines(wanted);
  const std::vector<std::string> now = Lines(text);
  std::size_t line = 0;
  while (line < before.size() && line < now.size() && before[line] == now[line]) ++line;
  const std::string end = "(the end)";
  ADD_FAILURE() << path << ":" << line + 1 << ": differs; if that is wanted, run again with "
                << "--update-golden and review the diff\n  file: "
                << (line < before.size() ? before[line] : end)
                << "\n   now: " << (line < now.size() ? now[line] : end);
}

}  // namespace partita::golden
