#include <string_view>

#include "base/command_line.h"
#include "cli/commands.h"
#include "cli/ctk/ctk.h"
#include "cli/parted/parted.h"

namespace {

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

int main(int argc, char** argv) {
  // A link with the name of NVIDIA's partition editor is that program.
  if (argc > 0 && FileName(argv[0]) == partita::cli::kMigPartedName) {
    return partita::cli::MigPartedMain(argc, argv);
  }
  // partita-hook, which is nvidia-ctk, calls this for what is no hook.
  if (argc > 0 && FileName(argv[0]) == partita::cli::kCtkName)
    return partita::cli::CtkMain(argc, argv);
  return partita::base::Main(partita::cli::MakeProgram(), argc, argv);
}
