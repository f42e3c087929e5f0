#include "base/command_line.h"
#include "sim/tool/commands.h"

int main(int argc, char** argv) {
  return partita::base::Main(partita::sim::tool::SimProgram(), argc, argv);
}
