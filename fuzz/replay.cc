// Runs every file of the directories given through the target, without libFuzzer: how the ordinary
// test run guards what fuzzing once found.
#include <cstdio>
#include <string>

#include "base/files.h"
#include "fuzz/target.h"

int main(int argc, char** argv) {
  int replayed = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string directory = argv[i];
    const auto names = partita::base::ListDirectory(directory);
    if (!names.ok()) {
      std::fprintf(stderr, "replay: %s\n", names.error().ToString().c_str());
      return 1;
    }
    for (const std::string& name : *names) {
      const auto bytes = partita::base::ReadFile(partita::base::JoinPath(directory, name));
      if (!bytes.ok()) {
        std::fprintf(stderr, "replay: %s\n", bytes.error().ToString().c_str());
        return 1;
      }
      // Printed before the run, so that the last line of a crash names its input.
      std::printf("%s (%zu bytes)\n", name.c_str(), bytes->size());
      std::fflush(stdout);
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size());
      ++replayed;
    }
  }
  std::printf("%d inputs replayed\n", replayed);
  return replayed > 0 ? 0 : 1;
}
