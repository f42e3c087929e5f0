#include "cli/parted/flags.h"

#include <utility>

namespace partita::cli::parted {

using base::Option;

Option FileFlag(std::string name, std::string environment, std::string help) {
  return {.name = std::move(name),
          .letter = 'f',
          .value_name = "FILE",
          .help = std::move(help),
          .environment = std::move(environment)};
}

Option ConfigFileFlag() {
  return FileFlag("config-file", "MIG_PARTED_CONFIG_FILE", "the configurations; - is stdin");
}

Option SelectedConfigFlag() {
  return {.name = "selected-config",
          .letter = 'c',
          .value_name = "NAME",
          .help = "the label of the configuration in the file",
          .environment = "MIG_PARTED_SELECTED_CONFIG"};
}

Option CheckpointFileFlag() {
  return FileFlag("checkpoint-file", "MIG_PARTED_CHECKPOINT_FILE", "the checkpoint");
}

Option HooksFileFlag() {
  return {.name = "hooks-file",
          .letter = 'k',
          .value_name = "FILE",
          .help = "programs to run around the change",
          .environment = "MIG_PARTED_HOOKS_FILE"};
}

Option ModeOnlyFlag() {
  return {.name = "mode-only",
          .letter = 'm',
          .help = "only MIG modes, no devices",
          .environment = "MIG_PARTED_MODE_CHANGE_ONLY"};
}

}  // namespace partita::cli::parted
