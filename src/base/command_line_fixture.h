// A program to test the command line with: every kind of option, argument and command once.
#pragma once

#include "base/command_line.h"

namespace partita::base {

inline int DoNothing(const Invocation&) { return 0; }

inline Program SampleProgram(const std::function<int(const Invocation&)>& run = DoNothing) {
  Program program;
  program.version = "0.1.0";
  program.exit_statuses = {{0, "done"}, {1, "error"}, {2, "invalid input"}};
  program.environment = {{"NO_COLOR", "set to anything: no colours"}};
  program.root = {
      .name = "gpu-tool",
      .summary = "look at the GPUs of this machine",
      .description =
          "One program for everything that happens to a GPU on a node, from looking at it "
          "to cutting it into slices.\n\nIt never changes anything without being told to.",
      .options = {{.name = "driver-root",
                   .value_name = "DIR",
                   .help = "where the driver is installed",
                   .environment = "GPU_DRIVER_ROOT",
                   .default_value = "/"},
                  {.name = "verbose", .letter = 'v', .help = "say more"}},
      .examples = {{"gpu-tool status", "show what is there"}},
  };
  program.root.commands = {
      {.name = "status",
       .summary = "show GPUs, slices and who uses them",
       .options =
           {{.name = "output",
             .letter = 'o',
             .value_name = "FORMAT",
             .help = "how to show it",
             .environment = "GPU_OUTPUT",
             .choices = {"text", "json", "yaml"},
             .default_value = "text"},
            {.name = "watch", .letter = 'w', .help = "keep showing it", .environment = "GPU_WATCH"},
            {.name = "gpu", .value_name = "ID", .help = "only this GPU", .repeatable = true}},
       .examples = {{"gpu-tool status", ""}, {"gpu-tool status -o json", "the same for programs"}},
       .run = run},
      {.name = "mig",
       .summary = "slices",
       .commands =
           {{.name = "apply",
             .summary = "bring a GPU to a layout",
             .description = "Keeps the slices that are already right.",
             .options = {{.name = "config-file",
                          .letter = 'f',
                          .value_name = "FILE",
                          .help = "the layouts",
                          .required = true}},
             .arguments = {{.name = "LAYOUT", .help = "its name in the file"},
                           {.name = "GPU", .help = "which", .required = false, .repeatable = true}},
             .run = run}}},
      {.name = "run",
       .summary = "run a program with one GPU",
       .arguments = {{.name = "GPU", .help = "index or UUID"}},
       .takes_rest = true,
       .rest_name = "PROGRAM",
       .run = run},
      {.name = "completion",
       .summary = "print a completion script",
       .arguments = {{.name = "SHELL", .help = "which", .choices = {"bash", "zsh", "fish"}}},
       .run = run},
      {.name = "secret", .summary = "not listed", .hidden = true, .run = run},
  };
  return program;
}

}  // namespace partita::base
