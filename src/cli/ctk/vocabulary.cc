#include "cli/ctk/vocabulary.h"

namespace partita::cli {
namespace {

#define GENERATE(name) "NVIDIA_CTK_CDI_GENERATE_" name
constexpr CtkFlag kGenerate[] = {
    {"output", CtkUse::kValue, "FILE", "NVIDIA_CTK_CDI_OUTPUT_FILE_PATH"},
    {"format", CtkUse::kValue, "output", GENERATE("OUTPUT_FORMAT")},
    {"mode", CtkUse::kValue, "mode", GENERATE("MODE")},
    {"discovery-mode", CtkUse::kValue, "mode"},
    {"device-name-strategy", CtkUse::kValues, "device-name-strategy",
     GENERATE("DEVICE_NAME_STRATEGIES")},
    {"driver-root", CtkUse::kValue, "driver-root", "NVIDIA_CTK_DRIVER_ROOT"},
    {"dev-root", CtkUse::kValue, "dev-root", "NVIDIA_CTK_DEV_ROOT"},
    {"library-search-path", CtkUse::kValues, "library-search-path",
     GENERATE("LIBRARY_SEARCH_PATHS")},
    {"config-search-path", CtkUse::kValues, "config-search-path", GENERATE("CONFIG_SEARCH_PATHS")},
    {"nvidia-cdi-hook-path", CtkUse::kValue, "hook-path", "NVIDIA_CTK_CDI_HOOK_PATH"},
    {"nvidia-ctk-path", CtkUse::kValue, "hook-path"},
    {"ldconfig-path", CtkUse::kValue, "ldconfig-path", GENERATE("LDCONFIG_PATH")},
    {"vendor", CtkUse::kValue, "vendor", GENERATE("VENDOR")},
    {"cdi-vendor", CtkUse::kValue, "vendor"},
    {"class", CtkUse::kValue, "class", GENERATE("CLASS")},
    {"cdi-class", CtkUse::kValue, "class"},
    {"disable-hook", CtkUse::kValues, "disable-hook", GENERATE("DISABLED_HOOKS")},
    {"disable-hooks", CtkUse::kValues, "disable-hook"},
    {"enable-hook", CtkUse::kValues, "enable-hook", GENERATE("ENABLED_HOOKS")},
    {"enable-hooks", CtkUse::kValues, "enable-hook"},
    {"feature-flag", CtkUse::kValues, "feature-flag", GENERATE("FEATURE_FLAGS")},
    {"feature-flags", CtkUse::kValues, "feature-flag"},
    {"no-all-device", CtkUse::kSwitch, "no-all-device", GENERATE("NO_ALL_DEVICE")},
    {"device-id", CtkUse::kValues, "device-id", GENERATE("DEVICE_IDS")},
    {"device-ids", CtkUse::kValues, "device-id"},
    {"device", CtkUse::kValues, "device-id"},
    {"devices", CtkUse::kValues, "device-id"},
    {"csv.file", CtkUse::kNoEffect, ""},
    {"csv.ignore-pattern", CtkUse::kNoEffect, ""},
    {"csv.compat-container-root", CtkUse::kNoEffect, ""},
};
#undef GENERATE
constexpr CtkFlag kList[] = {{"spec-dir", CtkUse::kValues, "spec-dir", "NVIDIA_CTK_CDI_SPEC_DIRS"}};
constexpr CtkFlag kConfigure[] = {
    {"runtime", CtkUse::kValue, "runtime"},
    {"config", CtkUse::kValue, "config"},
    {"drop-in-config", CtkUse::kValue, "drop-in-config"},
    {"config-source", CtkUse::kValue, "config-source"},
    {"executable-path", CtkUse::kValue, "executable-path"},
    {"config-mode", CtkUse::kRefused, ""},
    {"oci-hook-path", CtkUse::kRefused, ""},
    {"nvidia-runtime-name", CtkUse::kValue, "runtime-name"},
    {"nvidia-runtime-path", CtkUse::kValue, "runtime-path"},
    {"runtime-path", CtkUse::kValue, "runtime-path"},
    {"nvidia-runtime-hook-path", CtkUse::kNoEffect, ""},
    {"nvidia-set-as-default", CtkUse::kSwitch, "set-as-default"},
    {"set-as-default", CtkUse::kSwitch, "set-as-default"},
    {"cdi.enabled", CtkUse::kSwitch, "enable-cdi"},
    {"cdi.enable", CtkUse::kSwitch, "enable-cdi"},
    {"enable-cdi", CtkUse::kSwitch, "enable-cdi"},
    {"dry-run", CtkUse::kSwitch, "dry-run"},
};
constexpr CtkFlag kGlobal[] = {{"debug", CtkUse::kSwitch, ""},
                               {"d", CtkUse::kSwitch, ""},
                               {"quiet", CtkUse::kSwitch, ""},
                               {"config", CtkUse::kValue, "", "NVIDIA_CTK_CONFIG"}};
constexpr CtkFlag kConfig[] = {
    {"config-file", CtkUse::kValue, "config"}, {"config", CtkUse::kValue, "config"},
    {"c", CtkUse::kValue, "config"},           {"set", CtkUse::kValues, "set"},
    {"in-place", CtkUse::kSwitch, "in-place"}, {"i", CtkUse::kSwitch, "in-place"},
    {"output", CtkUse::kValue, "FILE"},        {"o", CtkUse::kValue, "FILE"},
};
constexpr CtkFlag kDefault[] = {{"output", CtkUse::kValue, "FILE"}, {"o", CtkUse::kValue, "FILE"}};

constexpr CtkCommand kCommands[] = {
    {"cdi", "generate", "cdi generate", "Write a CDI specification of this machine's GPUs",
     kGenerate},
    {"cdi", "list", "cdi list", "List the CDI devices that engines find", kList},
    {"config", "default", "runtime config --default", "Print config.toml with every default",
     kDefault},
    {"config", "", "runtime config", "Print config.toml, and set keys in it", kConfig},
    {"runtime", "configure", "runtime configure", "Tell a container engine of the runtime",
     kConfigure},
};

constexpr CtkMissing kMissing[] = {
    {"cdi transform", "cdi generate --driver-root DIR --dev-root DIR writes the paths meant"},
    {"info", "partita status and partita doctor show this machine"},
    {"system create-device-nodes", "nvidia-modprobe -u -c 0 makes them; partita doctor names them"},
    {"system create-dev-char-symlinks", "for each node: ln -s ../nvidia0 /dev/char/195:0"},
};

}  // namespace

std::span<const CtkCommand> CtkCommands() { return kCommands; }

std::span<const CtkFlag> CtkGlobalFlags() { return kGlobal; }

std::span<const CtkMissing> CtkMissingCommands() { return kMissing; }

}  // namespace partita::cli
