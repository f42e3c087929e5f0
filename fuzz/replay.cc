// fuzz_replay TARGET DIRECTORY…: runs every file through the target, without libFuzzer: how the
// ordinary test run guards what fuzzing once found.
#include <cstdio>
#include <map>
#include <string>

#include "base/files.h"
#include "fuzz/target.h"

namespace partita::fuzz {
namespace {

std::map<std::string, Target>& Targets() {
  static std::map<std::string, Target> targets;
  return targets;
}

}  // namespace

Known::Known(const char* name, Target target) {
  PARTITA_CHECK(Targets().emplace(name, target).second);
}

}  // namespace partita::fuzz

int main(int argc, char** argv) {
  const auto& targets = partita::fuzz::Targets();
  const auto found = targets.find(argc > 1 ? argv[1] : "");
  if (found == targets.end()) {
    std::fprintf(stderr, "replay: usage: fuzz_replay TARGET DIRECTORY…, where TARGET is one of\n");
    for (const auto& [name, target] : targets) std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
  }
  int replayed = 0;
  for (int i = 2; i < argc; ++i) {
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
      found->second(reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size());
      ++replayed;
    }
  }
  std::printf("%d inputs replayed\n", replayed);
  return replayed > 0 ? 0 : 1;
}
