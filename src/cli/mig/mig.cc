#include "cli/mig/commands.h"

namespace partita::cli {

namespace {

using base::Command;
using base::Option;

Option GpuOption() {
  return {.name = "gpu",
          .letter = 'g',
          .value_name = "ID",
          .help = "only these GPUs (0,1), by index, PCI address, UUID or product",
          .repeatable = true};
}

// A product instead of this machine: needs no GPU.
Option ModelOption() {
  return {.name = "model",
          .letter = 'm',
          .value_name = "PRODUCT",
          .help = "a product that this program knows, instead of the GPUs of this machine"};
}

Command ProfilesCommand() {
  return {.name = "profiles",
          .summary = "Show what a GPU can be divided into",
          .description =
              "Lists the GPU instance profiles of each kind of GPU, as its driver reports them: "
              "how many at most, memory, multiprocessors, copy and media engines, how many memory "
              "slices one takes and where it may begin.",
          .options = {GpuOption(), ModelOption()},
          .examples = {{"partita mig profiles", "of the GPUs of this machine"},
                       {"partita mig profiles --model H200", "without a GPU"}},
          .run = RunMigProfiles};
}

Command LayoutsCommand() {
  return {.name = "layouts",
          .summary = "Show which instances a GPU can hold at once",
          .description =
              "Lists the sets of GPU instances that no other set contains, each drawn to scale at "
              "its best places, with the number of layouts that hold it. With --all every set, and "
              "what would still fit beside it.",
          .options = {GpuOption(),
                      ModelOption(),
                      {.name = "all", .letter = 'a', .help = "also sets that leave room"}},
          .examples = {{"partita mig layouts --gpu 0", "of one GPU"},
                       {"partita mig layouts --model A30 --all", "every set of a product"}},
          .run = RunMigLayouts};
}

Command ShowCommand() {
  return {.name = "show",
          .summary = "Draw the slices of each GPU",
          .description =
              "Draws every GPU with its MIG mode, its GPU and compute instances to scale, what "
              "would still fit and who runs where.",
          .options = {GpuOption()},
          .examples = {{"partita mig show", "every GPU of this machine"},
                       {"partita mig show --gpu 2 -o json", "one, for programs"}},
          .run = RunMigShow};
}

Option FileOption() {
  return {.name = "config-file",
          .letter = 'f',
          .value_name = "FILE",
          .help = "the partition editor's file, with named configurations; - is standard input",
          .environment = "MIG_PARTED_CONFIG_FILE"};
}

Option NameOption() {
  return {.name = "selected-config",
          .letter = 'c',
          .value_name = "NAME",
          .help = "the configuration of the file; not needed when there is one",
          .environment = "MIG_PARTED_SELECTED_CONFIG"};
}

Option WantOption() {
  return {.name = "want",
          .value_name = "DEVICES",
          .help = "instead of a file: \"1g.5gb:7\", \"3g.20gb,1c.2g.10gb:2\", none or off"};
}

Command PlanCommand() {
  return {.name = "plan",
          .summary = "Show what apply would do, and change nothing",
          .description =
              "Draws each GPU that is meant as it is and as it would be, to scale, with every step "
              "between: which instances stay, which go, which come and where. Instances that "
              "match stay as they are, and of all ways the one that destroys least is taken. Where "
              "something in use stands in the way it names the process; where no such layout "
              "exists, the rule and the nearest that do.\n\n"
              "The exit status is 0 when the plan could be carried out (or nothing is to be done), "
              "4 when a process is in the way and 2 when the GPU can never be so, or the "
              "configuration is for no GPU of this machine. A reset that is needed is shown and "
              "does not change the status.",
          .options = {GpuOption(), ModelOption(), FileOption(), NameOption(), WantOption()},
          .examples = {{"partita mig plan -f mig.yaml -c all-balanced", "a configuration"},
                       {"partita mig plan --gpu 0 --want 3g.20gb,1g.5gb:4", "one GPU, by words"},
                       {"partita mig plan --model H200 --want 1g.18gb:7", "without a GPU"}},
          .run = RunMigPlan};
}

Command DiffCommand() {
  return {.name = "diff",
          .summary = "Show how the GPUs differ from a configuration",
          .description =
              "Lists for each GPU the devices and modes that are there but not wanted (-) and "
              "wanted but not there (+). The exit status is 0 without a difference, else 3; 2 when "
              "the configuration is for no GPU of this machine.",
          .options = {GpuOption(), FileOption(), NameOption(), WantOption()},
          .examples = {{"partita mig diff -f mig.yaml -c all-1g.5gb", "with a file"},
                       {"partita mig diff --gpu 0 --want off", "is MIG off on GPU 0?"}},
          .run = RunMigDiff};
}

Command AssertCommand() {
  return {.name = "assert",
          .summary = "Check that a configuration is in force",
          .description =
              "The exit status is 0 when every GPU that the configuration names is as it says, "
              "wherever its devices are placed, and 3 otherwise. Other GPUs do not count, unless "
              "--strict. One that is for no GPU of this machine, on or off, is an error with "
              "status 2; one that turns MIG off is in force on GPUs that cannot do MIG.",
          .options = {GpuOption(),
                      FileOption(),
                      NameOption(),
                      WantOption(),
                      {.name = "mode-only", .help = "only whether MIG is on or off"},
                      {.name = "strict",
                       .help = "also fail when a GPU that can do MIG is in no entry"}},
          .examples = {{"partita mig assert -f mig.yaml -c all-1g.5gb", "for scripts"}},
          .run = RunMigAssert};
}

Command ValidateCommand() {
  Option file = FileOption();
  file.required = true;
  return {
      .name = "validate",
      .summary = "Check a configuration file",
      .description =
          "Checks the configurations of a file, or one with -c: that the file is well formed, "
          "that the GPUs know the profiles and that the layouts exist. What is on the GPUs now "
          "does not count. With --model no GPU is needed; entries with a filter for other "
          "boards are then passed over. The exit status is 0 or 2.",
      .options = {GpuOption(), ModelOption(), file, NameOption()},
      .examples = {{"partita mig validate -f mig.yaml --model H200", "without a GPU"},
                   {"partita mig validate -f mig.yaml -c all-balanced", "one, on this machine"}},
      .run = RunMigValidate};
}

Command ExportCommand() {
  return {.name = "export",
          .summary = "Print the present layout as a configuration",
          .description =
              "Prints a file of the partition editor with one configuration: the GPUs as they are. "
              "Text means YAML here.",
          .options = {GpuOption(),
                      {.name = "config-label",
                       .letter = 'l',
                       .value_name = "NAME",
                       .help = "the name of the configuration",
                       .environment = "MIG_PARTED_CONFIG_LABEL",
                       .default_value = "current"}},
          .examples = {{"partita mig export > mig.yaml", "keep what is there"}},
          .run = RunMigExport};
}

Command GenerateConfigCommand() {
  return {.name = "generate-config",
          .summary = "Print every common configuration of these GPUs",
          .description =
              "Prints a file of the partition editor with all-disabled, all-enabled, all-balanced "
              "and, for each profile of these GPUs, as many of it as fit. Text means YAML here.",
          .options = {GpuOption(), ModelOption()},
          .examples = {{"partita mig generate-config > mig.yaml", "of this machine"},
                       {"partita mig generate-config --model A30", "without a GPU"}},
          .run = RunMigGenerateConfig};
}

std::vector<Option> ChangeOptions() {
  return {{.name = "yes", .letter = 'y', .help = "do not ask, even on a terminal"},
          {.name = "wait", .help = "when another change runs, wait for its end"},
          {.name = "skip-reset",
           .letter = 's',
           .help = "leave modes that need a GPU reset pending",
           .environment = "MIG_PARTED_SKIP_RESET"},
          {.name = "mode-only",
           .help = "only MIG modes; GPUs whose mode is right are left as they are",
           .environment = "MIG_PARTED_MODE_CHANGE_ONLY"}};
}

std::vector<Option> Joined(std::vector<Option> options, const std::vector<Option>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

Command ApplyCommand() {
  return {
      .name = "apply",
      .summary = "Make GPUs what a configuration says",
      .description =
          "Shows the plan, asks on a terminal when instances or a GPU's state would be lost, "
          "carries it out with progress on standard error and verifies the result. If the node "
          "changes meanwhile, so that the plan becomes another one, that one is shown, and asked "
          "for where it must be, before anything is done; if it changes again and again, nothing "
          "is done (status 3). A configuration that is for no GPU of this machine, on or off, is "
          "an error (status 2). What "
          "matches is kept, and nothing in use is destroyed: then nothing is changed and the "
          "exit status is 4. Other GPUs are never touched. When a step fails, that GPU is put "
          "back as it was, as far as possible, and what is there is told (status 3); so it is "
          "after Ctrl-C. Status 5: a mode waits for a GPU reset or a reboot. Where an agent runs, "
          "it carries the change out.",
      .options = Joined({GpuOption(), FileOption(), NameOption(), WantOption()}, ChangeOptions()),
      .examples = {{"partita mig apply -f mig.yaml -c all-balanced", "a configuration"},
                   {"partita mig apply --gpu 0 --want 3g.20gb,1g.5gb:4 --yes",
                    "one GPU, without a question"}},
      .run = RunMigApply};
}

Option CheckpointOption() {
  return {.name = "checkpoint-file",
          .letter = 'f',
          .value_name = "FILE",
          .help = "the checkpoint; - is standard input or output",
          .environment = "MIG_PARTED_CHECKPOINT_FILE",
          .required = true};
}

Command CheckpointCommand() {
  return {.name = "checkpoint",
          .summary = "Write down what is there, with places",
          .description =
              "Writes every GPU that can do MIG with its mode and its instances at their places, "
              "in the JSON form that nvidia-mig-parted reads.",
          .options = {GpuOption(), CheckpointOption()},
          .examples = {{"partita mig checkpoint -f before.json", "to come back to"}},
          .run = RunMigCheckpoint};
}

Command RestoreCommand() {
  return {.name = "restore",
          .summary = "Make GPUs what a checkpoint says",
          .description =
              "As apply, for a checkpoint: instances come back at the places where they were. GPUs "
              "are found by UUID.",
          .options = Joined({CheckpointOption()}, ChangeOptions()),
          .examples = {{"partita mig restore -f before.json", "come back"}},
          .run = RunMigRestore};
}

Command BootCommand() {
  Option file = FileOption();
  file.letter = 0;
  file.help = "the configurations; else config.yaml or config-default.yaml, else what fits";
  return {.name = "boot",
          .summary = "Bring MIG back after a reboot",
          .description =
              "What partita-mig.service runs. Makes the GPUs what MIG_PARTED_SELECTED_CONFIG "
              "selects, else what was applied last (/var/lib/partita/mig.json; delete it to "
              "forget), else changes nothing. Units that hold GPUs are stopped before a change of "
              "modes and started after it, also after a crash. The last line on standard error "
              "tells the result. The exit status is 0 too where no driver is loaded; 5 when only a "
              "reboot helps, which is tried once with --reboot.",
          .options = {file,
                      NameOption(),
                      {.name = "hooks-file",
                       .value_name = "FILE",
                       .help = "programs to run around the change; else hooks.yaml",
                       .environment = "MIG_PARTED_HOOKS_FILE"},
                      {.name = "gpu-clients-file",
                       .value_name = "FILE",
                       .help = "units that hold GPUs: version: v1, systemd-services: [...]",
                       .environment = "GPU_CLIENTS_FILE"},
                      {.name = "config-dir",
                       .value_name = "DIR",
                       .help = "where those files are",
                       .default_value = "/etc/nvidia-mig-manager"},
                      {.name = "reboot",
                       .help = "reboot, once, where no reset is possible",
                       .environment = "WITH_REBOOT"}},
          .examples = {{"systemctl restart partita-mig.service", "as at boot"}},
          .run = RunMigBoot};
}

}  // namespace

Command MigCommand() {
  return {
      .name = "mig",
      .summary = "Divide GPUs into slices",
      .description =
          "MIG divides a GPU into GPU instances with memory of their own, and those into "
          "compute instances. These commands show what is there, what is possible and what a "
          "change would do. A configuration comes from a file (-f FILE -c NAME), as "
          "nvidia-mig-parted takes it, or as words: --want \"1g.5gb:7\". Profiles are written as "
          "names (1g.5gb, 1c.3g.20gb, 1g.5gb+me) or as what is the same on every board and "
          "driver: slices (1g, 1g*2, 1g+me) or the profile's id (id:19).",
      .examples = {{"partita mig show", "what is there"},
                   {"partita mig layouts --model H200", "what is possible"},
                   {"partita mig plan --gpu 0 --want 3g.20gb:2", "what a change would do"}},
      .commands = {ProfilesCommand(), LayoutsCommand(), ShowCommand(), PlanCommand(), DiffCommand(),
                   ValidateCommand(), ExportCommand(), AssertCommand(), GenerateConfigCommand(),
                   ApplyCommand(), CheckpointCommand(), RestoreCommand(), BootCommand()}};
}

}  // namespace partita::cli
