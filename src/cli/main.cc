#include "base/command_line.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  return partita::base::Main(partita::cli::MakeProgram(), argc, argv);
}
