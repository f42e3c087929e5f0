#include "cli/mig_commands.h"

namespace partita::cli {

namespace {

using base::Command;
using base::Option;

Option GpuOption() {
  return {.name = "gpu",
          .letter = 'g',
          .value_name = "ID",
          .help = "only this GPU, by index, PCI address, UUID or the start of one",
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

}  // namespace

Command MigCommand() {
  return {.name = "mig",
          .summary = "Divide GPUs into slices",
          .description =
              "MIG divides a GPU into GPU instances with memory of their own, and those into "
              "compute instances. These commands show what is there and what is possible.",
          .examples = {{"partita mig show", "what is there"},
                       {"partita mig layouts --model H200", "what is possible"}},
          .commands = {ProfilesCommand(), LayoutsCommand(), ShowCommand()}};
}

}  // namespace partita::cli
