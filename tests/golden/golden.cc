#include "tests/golden/golden.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace partita::golden {

namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
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
  EXPECT_EQ(ReadAll(path), text) << "differs from " << path
                                 << "; if that is wanted, run again with --update-golden";
}

}  // namespace partita::golden
