#include "cli/cdi/commands.h"

namespace partita::cli {
namespace {

using base::Command;
using base::Option;

Option SpecDirectoryOption() {
  return {.name = "spec-dir",
          .value_name = "DIR",
          .help = "read this directory instead of /etc/cdi and /var/run/cdi; a later one wins",
          .repeatable = true};
}

Command CdiListCommand() {
  return {.name = "list",
          .summary = "List the devices that containers can ask for by name",
          .description =
              "One qualified name a line, as it stands behind --device of docker and podman. Of "
              "a device that two directories define, the later one's counts; one that two files "
              "of the same directory define cannot be used. Files that cannot be read are "
              "warnings and do not change the exit status.",
          .options = {SpecDirectoryOption()},
          .examples = {{"partita cdi list", "what this machine offers"},
                       {"partita cdi list -o json", "with the file of each device"}},
          .run = RunCdiList};
}

Command CdiValidateCommand() {
  return {.name = "validate",
          .summary = "Say whether CDI files are valid",
          .description =
              "Reads the files, or those of the directories where none is named, and tells every "
              "problem, in a file's text with line and column. It looks at the files alone, not "
              "at what they name. A hook without an environment of its own is valid and a "
              "warning: it is started with that of the image. The exit status is 2 when a file is "
              "not valid.",
          .options = {SpecDirectoryOption()},
          .arguments = {{.name = "FILE",
                         .help = "a file; - for standard input",
                         .required = false,
                         .repeatable = true}},
          .examples = {{"partita cdi validate", "every file of this machine"},
                       {"partita cdi validate new.yaml", "one that is still to be installed"}},
          .run = RunCdiValidate};
}

Command CdiDiffCommand() {
  return {.name = "diff",
          .summary = "Say how two CDI files differ in what they do",
          .description =
              "Compares what a container gets: devices, nodes, mounts, hooks with their arguments "
              "and environment. How a file is written, as YAML or JSON, and the order of what has "
              "none, is no difference. The exit status is 3 when there is one.",
          .arguments = {{.name = "BEFORE", .help = "a file; - for standard input"},
                        {.name = "AFTER", .help = "the other one"}},
          .examples = {{"partita cdi diff /etc/cdi/nvidia.yaml /var/run/cdi/nvidia.yaml",
                        "what a container would get from each"},
                       {"nvidia-ctk cdi generate | partita cdi diff /var/run/cdi/nvidia.yaml -",
                        "against what another program writes"}},
          .run = RunCdiDiff};
}

}  // namespace

Command CdiCommand() {
  return {.name = "cdi",
          .summary = "Describe GPUs to container engines, and look at what they are told",
          .description =
              "CDI files tell container engines what a device's name stands for: device nodes, "
              "libraries, programs, hooks. docs/cdi.md explains them.",
          .examples = {{"partita cdi generate /var/run/cdi/nvidia.yaml",
                        "so that podman run --device nvidia.com/gpu=0 works"},
                       {"partita cdi list", "what containers on this machine can ask for"}},
          .commands = {CdiGenerateCommand(), CdiListCommand(), CdiValidateCommand(),
                       CdiDiffCommand(), CdiJitCommand()}};
}

}  // namespace partita::cli
