// Many processes in several PID namespaces use one simulated node and are killed at random moments.
// The checker looks on throughout, and at the end nothing may be stuck, lost or left over.
//
//   torture-soak --build DIRECTORY --nodes DIRECTORY [--seconds N] [--seed N] [--workers N]
//                [--cells N]
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "process.h"
#include "soak_run.h"
#include "state_view.h"

namespace partita::torture {
namespace {

using base::ErrorCode;
using base::MakeError;
using base::Result;

Result<unsigned long long> ParseNumber(const std::string& name, const std::string& text) {
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') {
    return MakeError(ErrorCode::kInvalid, "{} \"{}\" is not a number", name, text);
  }
  return number;
}

Result<SoakOptions> ParseOptions(const std::vector<std::string>& arguments) {
  SoakOptions options;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    if (i + 1 == arguments.size()) return MakeError(ErrorCode::kInvalid, "{} needs a value", name);
    const std::string& value = arguments[i + 1];
    if (name == "--build") {
      options.build = value;
    } else if (name == "--nodes") {
      options.nodes = value;
    } else {
      TRY(number, ParseNumber(name, value));
      if (name == "--seconds") {
        options.seconds = static_cast<unsigned>(number);
      } else if (name == "--workers" && number > 0 && number <= kMaxWorkers) {
        options.workers = static_cast<unsigned>(number);
      } else if (name == "--cells" && number > 0) {
        options.cells = static_cast<unsigned>(number);
      } else if (name == "--seed") {
        options.seed = number;
      } else {
        return MakeError(ErrorCode::kInvalid, "{} {} is not an option (see soak.cc)", name, value);
      }
    }
  }
  if (options.build.empty() || options.nodes.empty()) {
    return MakeError(ErrorCode::kInvalid, "--build and --nodes are required");
  }
  return options;
}

Ledger* MakeLedger() {
  void* memory =
      mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Ledger();
}

Result<bool> RunSoak(const SoakOptions& options) {
  TRY(node, ScratchNode::Up(options.build, options.nodes + "/soak.yaml"));
  TRY(view, StateView::Open(node.state(), StateView::Access::kRead));
  const std::string client = options.build + "/bin/torture-client";
  for (unsigned gpu = 0; gpu < view.file().machine.gpu_count; ++gpu) {
    TRY(done, RunProgram({client, node.library(), "do", "set-mode", std::to_string(gpu), "1"}));
  }
  Ledger* ledger = MakeLedger();
  if (ledger == nullptr) return base::ErrnoError("map the ledger");
  Soak soak(options, node, view, ledger);
  TRY_VOID(soak.Run());
  soak.PrintSummary();
  if (soak.findings().empty()) return true;
  soak.Dump();
  return false;
}

int Main(const std::vector<std::string>& arguments) {
  auto options = ParseOptions(arguments);
  if (!options.ok()) {
    std::fprintf(stderr, "soak: %s\n", options.error().ToString().c_str());
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  const auto sound = RunSoak(*options);
  if (!sound.ok()) std::fprintf(stderr, "soak: %s\n", sound.error().ToString().c_str());
  return sound.ok() && *sound ? 0 : 1;
}

}  // namespace
}  // namespace partita::torture

int main(int argc, char** argv) { return partita::torture::Main({argv + 1, argv + argc}); }
