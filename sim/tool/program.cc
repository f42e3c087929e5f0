#include <cstdio>

#include "sim/tool/commands.h"
#include "sim/tool/words.h"

namespace partita::sim::tool {
namespace {

using base::Command;
using base::Option;

Option NodeOption() {
  return {.name = "node",
          .letter = 'n',
          .value_name = "NODE",
          .help = "the node; not needed where only one is up",
          .environment = "PARTITA_SIM_NODE"};
}

Option OutputOption() {
  return {.name = "output",
          .letter = 'o',
          .value_name = "FORMAT",
          .help = "how to show the answer",
          .choices = base::OutputFormatNames(),
          .default_value = "text"};
}

Option GpuOption() {
  return {.name = "gpu",
          .letter = 'g',
          .value_name = "GPU",
          .help = "a GPU by index, UUID or PCI address; a list by commas, or all",
          .repeatable = true};
}

Option DataOption() {
  return {.name = "data",
          .value_name = "DIR",
          .help = "read products and nodes from this directory instead of the built-in ones"};
}

Option ForceOption(std::string help) { return {.name = "force", .help = std::move(help)}; }

Command UpCommand() {
  return {
      .name = "up",
      .summary = "Bring a simulated node up",
      .description =
          "Makes a node from a ready-made PROFILE or from a node file: its state, a complete "
          "driver root with libraries, programs and firmware, device nodes, /proc and PCI files. "
          "The node then exists until it is taken down; several can be up at once.\n\n"
          "Refuses where a real NVIDIA driver is loaded. All problems of a node file are reported "
          "at once. An up that is killed leaves nothing that counts as a node.",
      .options =
          {NodeOption(),
           {.name = "file", .letter = 'f', .value_name = "FILE", .help = "a node file (YAML)"},
           DataOption()},
      .arguments = {{.name = "PROFILE",
                     .help = "a name from partita-sim profiles",
                     .required = false}},
      .examples = {{"partita-sim up dgx-a100-40", "a DGX A100 named dgx-a100-40"},
                   {"partita-sim up mixed --node lab1", "three different GPUs, named lab1"},
                   {"partita-sim up --file node.yaml", "a machine of your own"}},
      .run = RunUp};
}

Command DownCommand() {
  return {.name = "down",
          .summary = "Take a node down",
          .description =
              "Removes the node and everything of it. Refuses while processes run in its view or "
              "hold its GPUs, and names them; guardians of watched processes end by themselves.",
          .options = {NodeOption(),
                      ForceOption("take it down nevertheless; the processes are not ended")},
          .examples = {{"partita-sim down", "the only node"},
                       {"partita-sim down --node lab1 --force", "whoever still uses it"}},
          .run = RunDown};
}

Command ListCommand() {
  return {
      .name = "list",
      .summary = "List the nodes that are up",
      .options = {OutputOption()},
      .examples = {{"partita-sim list", ""}, {"partita-sim list --output json", "for programs"}},
      .run = RunList};
}

Command ProfilesCommand() {
  return {.name = "profiles",
          .summary = "List the ready-made machines and the products for node files",
          .options = {OutputOption(), DataOption()},
          .examples = {{"partita-sim profiles", ""}},
          .run = RunProfiles};
}

Command ShowCommand() {
  return {
      .name = "show",
      .summary = "Show the state of a node",
      .description =
          "GPUs with their modes, instances and counters, workloads, faults and the clock. What "
          "NVML would answer is another view of the same state: partita-sim run -- nvidia-smi.",
      .options = {NodeOption(), OutputOption()},
      .examples = {{"partita-sim show", ""},
                   {"partita-sim show --node lab1 --output yaml", "everything there is"}},
      .run = RunShow};
}

Command SetCommand() {
  return {.name = "set",
          .summary = "Set readings, modes and counters of GPUs",
          .description =
              "Every value is checked before any is set. A reading that is set stays so until "
              "unset (or =auto): then it follows from the workloads again.\n\n" +
              SettingsHelp(),
          .options = {NodeOption(), GpuOption()},
          .arguments = {{.name = "KEY=VALUE", .help = "what to set", .repeatable = true}},
          .examples = {{"partita-sim set --gpu 0 temperature=91 power=390W", "a hot GPU"},
                       {"partita-sim set --gpu all ecc-volatile-uncorrected=2", ""},
                       {"partita-sim set --gpu 1 recovery-action=gpu-reset",
                        "the driver asks for a reset"},
                       {"partita-sim set --gpu 2 pci-driver=vfio", "given to a virtual machine"}},
          .run = RunSet};
}

Command UnsetCommand() {
  return {.name = "unset",
          .summary = "Undo what set did",
          .options = {NodeOption(), GpuOption()},
          .arguments = {{.name = "KEY", .help = "a key of set", .repeatable = true}},
          .examples = {{"partita-sim unset --gpu 0 temperature power", ""}},
          .run = RunUnset};
}

Command WorkloadStartCommand() {
  return {
      .name = "start",
      .summary = "Let a process hold a GPU or a slice",
      .description =
          "With a command after --: this process becomes it, and holds the GPU until it ends; with "
          "--detach it runs in the background instead, without input and output. With --pid: a "
          "guardian watches that process, also one in another PID namespace, and holds "
          "the GPU for it. Either way NVML shows the process with its memory and load, and both "
          "are gone when the process is.",
      .options =
          {NodeOption(),
           GpuOption(),
           {.name = "mig", .value_name = "SLICE", .help = "GI, GI:CI or a MIG device's UUID"},
           {.name = "memory", .value_name = "SIZE", .help = "GPU memory that it uses: 4GiB"},
           {.name = "util", .value_name = "PERCENT", .help = "load on the GPU"},
           {.name = "mem-util", .value_name = "PERCENT", .help = "load on its memory"},
           {.name = "encoder", .value_name = "PERCENT", .help = "load on the encoder"},
           {.name = "decoder", .value_name = "PERCENT", .help = "load on the decoder"},
           {.name = "kind",
            .value_name = "KIND",
            .help = "what kind of process it is",
            .choices = Texts(HolderKindWords()),
            .default_value = "compute"},
           {.name = "detach",
            .help = "print the pid and return when the workload is there, and leave it running"},
           {.name = "pid", .value_name = "PID", .help = "a process that runs already"}},
      .examples = {{"partita-sim workload start --gpu 0 --memory 4GiB --util 80 -- sleep 60", ""},
                   {"partita-sim workload start --detach --gpu 0 -- sleep 60", "in the background"},
                   {"partita-sim workload start --gpu 0 --mig 1:0 --memory 1GiB --pid 4711", ""}},
      .takes_rest = true,
      .rest_name = "COMMAND",
      .run = RunWorkloadStart};
}

Command WorkloadCommand() {
  return {
      .name = "workload",
      .summary = "Processes that use GPUs",
      .commands = {WorkloadStartCommand(),
                   {.name = "list",
                    .summary = "List them",
                    .options = {NodeOption(), OutputOption()},
                    .examples = {{"partita-sim workload list", ""}},
                    .run = RunWorkloadList},
                   {.name = "stop",
                    .summary = "End them",
                    .description = "Sends SIGTERM to the process (a watched one is only let go) "
                                   "and waits for its end.",
                    .options = {NodeOption(),
                                {.name = "all", .help = "every workload of the node"},
                                {.name = "kill", .help = "send SIGKILL instead"}},
                    .arguments = {{.name = "ID",
                                   .help = "as workload list shows it",
                                   .required = false,
                                   .repeatable = true}},
                    .examples = {{"partita-sim workload stop 0", ""},
                                 {"partita-sim workload stop --all", ""}},
                    .run = RunWorkloadStop}}};
}

Command FaultCallCommand() {
  return {
      .name = "call",
      .summary = "Let an NVML call fail, take long, hang or do something else",
      .description = "Prints the number of the fault, for fault clear.",
      .options = {NodeOption(),
                  GpuOption(),
                  {.name = "fail",
                   .value_name = "CODE",
                   .help = "answer this error: a number or a name such as GPU_IS_LOST"},
                  {.name = "slow", .value_name = "MS", .help = "answer only after so long"},
                  {.name = "hang", .help = "never answer while the fault lasts"},
                  {.name = "activation",
                   .value_name = "CODE",
                   .help = "nvmlDeviceSetMigMode: leave the mode pending, for this reason"},
                  {.name = "other",
                   .value_name = "WHAT",
                   .help =
                       "nvmlDeviceCreateGpuInstanceWithPlacement and "
                       "nvmlGpuInstanceCreateComputeInstance[WithPlacement]: make it at another "
                       "place, or another profile, than asked",
                   .choices = {"place", "profile"}},
                  {.name = "times",
                   .value_name = "N",
                   .help = "only for the next N calls; else until cleared"}},
      .arguments = {{.name = "NAME", .help = "an exported function, or \"*\" for all of them"}},
      .examples = {{"partita-sim fault call nvmlDeviceGetName --fail UNKNOWN --gpu 3", ""},
                   {"partita-sim fault call nvmlDeviceGetUUID --slow 2000 --times 1", ""},
                   {"partita-sim fault call '*' --hang --gpu 0", "the GPU's driver is stuck"},
                   {"partita-sim fault call nvmlDeviceSetMigMode --activation IN_USE --gpu 0",
                    "the mode waits"}},
      .run = RunFaultCall};
}

Command FaultXidCommand() {
  return {
      .name = "xid",
      .summary = "Report an XID, as the driver does when something broke",
      .options = {NodeOption(),
                  GpuOption(),
                  {.name = "gi", .value_name = "GI", .help = "in this GPU instance"},
                  {.name = "ci", .value_name = "CI", .help = "and this compute instance of it"},
                  {.name = "count", .value_name = "N", .help = "so many times; 1 unless given"}},
      .arguments = {{.name = "XID", .help = "the number"}},
      .examples = {{"partita-sim fault xid 79 --gpu 2", "it fell off the bus, says the driver"},
                   {"partita-sim fault xid 94 --gpu 0 --gi 1 --ci 0", "inside a slice"}},
      .run = RunFaultXid};
}

Command FaultCommand() {
  return {
      .name = "fault",
      .summary = "Break things, and mend them",
      .commands = {FaultXidCommand(),
                   {.name = "lost",
                    .summary = "Take a GPU off the bus: XID 79, then every call on it fails",
                    .options = {NodeOption(), GpuOption()},
                    .examples = {{"partita-sim fault lost --gpu 2", ""}},
                    .run = RunFaultLost},
                   {.name = "reset-required",
                    .summary = "Let a GPU demand a reset",
                    .options = {NodeOption(), GpuOption()},
                    .examples = {{"partita-sim fault reset-required --gpu 2", ""}},
                    .run = RunFaultResetRequired},
                   FaultCallCommand(),
                   {.name = "mps",
                    .summary = "Let a client of MPS make an illegal access",
                    .description = "All clients of its server end with the error, and every later "
                                   "one, until the server is replaced.",
                    .options = {{.name = "client",
                                 .value_name = "PID",
                                 .help = "as the daemon's ps shows it; else the first"}},
                    .arguments = {{.name = "DIR", .help = "the daemon's CUDA_MPS_PIPE_DIRECTORY"}},
                    .examples = {{"partita-sim fault mps /tmp/nvidia-mps", ""}},
                    .run = RunFaultMps},
                   {.name = "version-mismatch",
                    .summary = "Let the library be of another version than the driver: init fails",
                    .options = {NodeOption()},
                    .examples = {{"partita-sim fault version-mismatch", ""}},
                    .run = RunFaultVersionMismatch},
                   {.name = "clear",
                    .summary = "End faults",
                    .options = {NodeOption(),
                                GpuOption(),
                                {.name = "all", .help = "every fault of the node"}},
                    .arguments = {{.name = "ID",
                                   .help = "a call fault's number",
                                   .required = false,
                                   .repeatable = true}},
                    .examples = {{"partita-sim fault clear 1", ""},
                                 {"partita-sim fault clear --gpu 2", "the GPU is back"},
                                 {"partita-sim fault clear --all", ""}},
                    .run = RunFaultClear},
                   {.name = "list",
                    .summary = "List the faults that last",
                    .options = {NodeOption(), OutputOption()},
                    .examples = {{"partita-sim fault list", ""}},
                    .run = RunFaultList}}};
}

Command ClockCommand() {
  const auto part = [](const std::string& name, std::string summary,
                       int (*run)(const base::Invocation&)) {
    return Command{.name = name,
                   .summary = std::move(summary),
                   .options = {NodeOption(), OutputOption()},
                   .examples = {{"partita-sim clock " + name, ""}},
                   .run = run};
  };
  Command advance = part("advance", "Move simulated time on", RunClockAdvance);
  advance.arguments = {{.name = "DURATION", .help = "90s, 1h30m, 250ms, 2d"}};
  advance.examples = {{"partita-sim clock advance 10m", "ten minutes pass at once"}};
  return {.name = "clock",
          .summary = "Simulated time",
          .description = "Readings follow from it and from the workloads; counters never go back.",
          .commands = {part("freeze", "Stop simulated time", RunClockFreeze),
                       part("run", "Let simulated time run", RunClockRun), std::move(advance),
                       part("show", "Show simulated time", RunClockShow)}};
}

Command DriverCommand() {
  const auto part = [](const std::string& name, std::string summary,
                       int (*run)(const base::Invocation&)) {
    return Command{.name = name,
                   .summary = std::move(summary),
                   .options = {NodeOption(), ForceOption("although processes hold GPUs")},
                   .examples = {{"partita-sim driver " + name, ""}},
                   .run = run};
  };
  return {.name = "driver",
          .summary = "Load and unload the kernel driver",
          .description =
              "GPU and compute instances go with the driver. The MIG mode stays on boards before "
              "Hopper and is lost on later ones.",
          .commands = {part("load", "Load it", RunDriverLoad),
                       part("unload", "Unload it", RunDriverUnload),
                       part("reload", "Unload and load it", RunDriverReload)}};
}

Command ResetCommand() {
  return {
      .name = "reset",
      .summary = "Reset GPUs",
      .description = "Pending modes become current, instances go, volatile counters start again.",
      .options = {NodeOption(), GpuOption(), ForceOption("although processes hold it")},
      .examples = {{"partita-sim reset --gpu 0", ""}},
      .run = RunReset};
}

Command RebootCommand() {
  return {.name = "reboot",
          .summary = "Reboot the node",
          .description =
              "As a driver reload, with a new boot id; lost GPUs are back and call faults gone; "
              "the node's /run/partita is empty, its /var/lib/partita is kept. "
              "Refuses while workloads run; with --force they are killed, as a reboot does.",
          .options = {NodeOption(), ForceOption("kill workloads")},
          .examples = {{"partita-sim reboot", ""}},
          .run = RunReboot};
}

Command ExchangeCommand() {
  return {
      .name = "exchange",
      .summary = "Put another board into the slot of a GPU",
      .description =
          "As hardware is exchanged: only while the driver is unloaded, which finds the new board "
          "when it is loaded. The board is of the PRODUCT, in its default state, with a UUID and a "
          "serial number of its own; address, NUMA node and minor are those of the slot. "
          "sim/node.yaml still describes the node as it came up.",
      .options = {NodeOption(),
                  GpuOption(),
                  DataOption(),
                  {.name = "uuid", .value_name = "UUID", .help = "the board's; else a new one"},
                  {.name = "serial",
                   .value_name = "NUMBER",
                   .help = "the board's; else a new one"}},
      .arguments = {{.name = "PRODUCT", .help = "a product from partita-sim profiles"}},
      .examples = {{"partita-sim exchange --gpu 3 H100-80GB-HBM3",
                    "between driver unload and driver load"}},
      .run = RunExchange};
}

Option ProcModulesOption() {
  return {
      .name = "proc-modules",
      .help =
          "give /proc a file modules where the kernel has none, which NVIDIA's own "
          "nvidia-mig-parted needs; processes born later are missing in that /proc, so only for "
          "programs that look and end"};
}

Command RunCommand() {
  return {
      .name = "run",
      .summary = "Run a command that sees the node",
      .description =
          "In a mount namespace of its own the command finds the simulated driver where it "
          "looks for the real one: device nodes, /proc/driver, PCI devices, libraries in the "
          "distribution's folder and in the loader's cache, nvidia-smi in /usr/bin. /run/partita "
          "and /var/lib/partita are the node's own. It replaces this process: arguments, signals "
          "and exit status pass through; 127 means that it was not found, 126 that it could not be "
          "started.",
      .options = {NodeOption(), ProcModulesOption()},
      .examples = {{"partita-sim run -- nvidia-smi -L", ""},
                   {"partita-sim run --node lab1 -- partita status", ""},
                   {"partita-sim run --proc-modules -- nvidia-mig-parted export", ""}},
      .takes_rest = true,
      .rest_name = "COMMAND",
      .run = RunRun};
}

Command ShellCommand() {
  return {.name = "shell",
          .summary = "A shell that sees the node",
          .options = {NodeOption(), ProcModulesOption()},
          .examples = {{"partita-sim shell", "$SHELL on the only node"}},
          .run = RunShell};
}

std::vector<Command> Commands() {
  return {UpCommand(),
          DownCommand(),
          ListCommand(),
          ProfilesCommand(),
          ShowCommand(),
          SetCommand(),
          UnsetCommand(),
          WorkloadCommand(),
          FaultCommand(),
          ClockCommand(),
          DriverCommand(),
          ResetCommand(),
          RebootCommand(),
          ExchangeCommand(),
          RunCommand(),
          ShellCommand(),
          {.name = "completion",
           .summary = "Print the completion script of a shell",
           .arguments = {{.name = "SHELL", .help = "bash, zsh or fish"}},
           .hidden = true,
           .run = RunCompletion},
          {.name = "man", .summary = "Print the manual page", .hidden = true, .run = RunMan}};
}

base::Program MakeProgram() {
  base::Program program;
  program.root = {
      .name = "partita-sim",
      .summary = "Simulated NVIDIA GPU nodes",
      .description =
          "A simulated node is a state file, a real libnvidia-ml.so.1 that answers from "
          "it, and the files around a driver. Programs that run in it need no change.",
      .commands = Commands()};
  program.version = PARTITA_VERSION;
  program.exit_statuses = {{kDone, "done"},
                           {kFailed, "error"},
                           {kInvalidInput, "invalid input: nothing was changed"},
                           {kBlocked, "blocked by a process, which is named"}};
  program.environment = {{"PARTITA_SIM_NODE", "the node, where --node is not given"},
                         {"PARTITA_SIM_DIR", "where nodes live, instead of /run/partita-sim"}};
  return program;
}

}  // namespace

const base::Program& SimProgram() {
  static const base::Program program = MakeProgram();
  return program;
}

int RunCompletion(const base::Invocation& invocation) {
  const std::string& shell = invocation.arguments().front();
  const std::string script = base::Completion(SimProgram(), shell);
  if (script.empty()) {
    return Report(base::MakeError(base::ErrorCode::kInvalid, "no completion for \"{}\"", shell)
                      .WithHint("bash, zsh and fish have one"));
  }
  std::fputs(script.c_str(), stdout);
  return kDone;
}

int RunMan(const base::Invocation&) {
  std::fputs(base::ManPage(SimProgram()).c_str(), stdout);
  return kDone;
}

}  // namespace partita::sim::tool
