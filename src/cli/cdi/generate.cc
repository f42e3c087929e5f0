#include "service/cdi/generate.h"
#include "service/cdi/features.h"

#include <sys/stat.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cdi/name.h"
#include "cdi/text.h"
#include "cli/cdi/commands.h"
#include "cli/cdi/node.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"
#include "service/cdi/spec_file.h"

namespace partita::cli {

namespace {

using base::ErrorCode;
using base::Option;
using base::Result;
using service::cdi::Mode;
using service::cdi::Naming;
using Of = service::cdi::NodeFilesOptions::Of;

struct NamingWord {
  std::string_view word;
  Naming naming;
};
constexpr NamingWord kNamings[] = {
    {"index", Naming::kIndex}, {"uuid", Naming::kUuid}, {"type-index", Naming::kTypeIndex}};

struct Order {
  service::cdi::GenerateOptions generate;
  service::cdi::NodeFilesOptions files;
  std::string path;  // empty: standard output
  bool json = false;
};

std::vector<std::string> HookWords(std::vector<std::string> words) {
  for (const std::string_view name : service::cdi::HookNames()) words.emplace_back(name);
  return words;
}

// "--OPTION \"word\": why".
Result<void> OfOption(std::string_view option, Result<void> end) {
  if (end.ok()) return end;
  const base::Error& error = end.error();
  return base::MakeError(error.code(), "--{} {}", option, error.message()).WithHint(error.hint());
}

Result<void> ReadFeatures(const base::Invocation& invocation, Order& order) {
  service::cdi::Features features;
  for (const std::string& flag : invocation.GetAll("feature-flag"))
    TRY_VOID(OfOption("feature-flag", AddFeatureFlag(flag, features)));
  for (const std::string& name : invocation.GetAll("disable-hook"))
    TRY_VOID(OfOption("disable-hook", DisableHook(name, features)));
  features.ApplyTo(order.generate, order.files);
  for (std::string& name : invocation.GetAll("enable-hook")) {
    if (name == "all")
      return base::Error(ErrorCode::kInvalid, "--enable-hook all: name the hooks that you want");
    TRY_VOID(OfOption("enable-hook", service::cdi::CheckHookName(name)));
    order.generate.hooks.enabled.insert(std::move(name));
  }
  return {};
}

Result<void> ReadKind(const base::Invocation& invocation, service::cdi::GenerateOptions& options) {
  options.vendor = invocation.Get("vendor").value_or(options.vendor);
  options.klass =
      invocation.Get("class").value_or(std::string(service::cdi::ClassOf(options.mode)));
  if (!cdi::IsVendor(options.vendor)) {
    return base::MakeError(ErrorCode::kInvalid, "--vendor {}: not a vendor's name",
                           base::Quoted(options.vendor));
  }
  if (!cdi::IsClass(options.klass)) {
    return base::MakeError(ErrorCode::kInvalid, "--class {}: not a class of devices",
                           base::Quoted(options.klass));
  }
  return {};
}

// What cannot be meant as a file: nothing, a folder, a device. Whatever has no ending gets one, and
// would become a file beside it.
Result<void> CheckName(const std::string& path) {
  const std::string_view name = service::cdi::NameOf(path);
  struct stat about {};
  const bool other = stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
  if (!other && !name.empty() && !name.starts_with('.')) return {};
  return base::MakeError(ErrorCode::kInvalid, "{}: not the name of a CDI file", base::Quoted(path))
      .WithHint("name a file that ends in .yaml or .json");
}

// The format is that of the file's name, else the one asked for.
Result<void> ReadPlace(const base::Invocation& invocation,
                       const CommandOptions& common,
                       Order& order) {
  const bool asked = invocation.Has("output") && common.format != base::OutputFormat::kText;
  order.json = common.format == base::OutputFormat::kJson;
  if (invocation.arguments().empty() || invocation.arguments()[0] == "-") return {};
  order.path = invocation.arguments()[0];
  TRY_VOID(CheckName(order.path));
  const std::string_view name = service::cdi::NameOf(order.path);
  if (name.ends_with(".yml")) {
    return base::MakeError(ErrorCode::kInvalid, "{}: engines read no .yml", order.path)
        .WithHint("name it .yaml");
  }
  const bool is_json = name.ends_with(".json"), is_yaml = name.ends_with(".yaml");
  if (!is_json && !is_yaml) {
    order.path += order.json ? ".json" : ".yaml";
  } else if (asked && is_json != order.json) {
    return base::MakeError(ErrorCode::kInvalid, "--output {}: {} is of the other format",
                           order.json ? "json" : "yaml", order.path);
  }
  if (order.path.find('/') == std::string::npos) order.path = "./" + order.path;
  return {};
}

Result<Order> ReadOrder(const base::Invocation& invocation, const CommandOptions& common) {
  Order order;
  order.files = NodeFilesOptionsOf(invocation, common);
  order.files.library_paths = invocation.GetAll("library-search-path");
  order.files.config_paths = invocation.GetAll("config-search-path");
  service::cdi::GenerateOptions& options = order.generate;
  TRY(mode, service::cdi::ParseMode(invocation.Get("mode").value_or("auto")), "--mode");
  options.mode = mode;
  const bool whole = mode == Mode::kNvml || mode == Mode::kManagement;
  order.files.of = whole ? Of::kDriver : mode == Mode::kGds ? Of::kStorage : Of::kNothing;
  TRY(hooks, HookSetOf(invocation));
  options.hooks = std::move(hooks);
  TRY_VOID(ReadFeatures(invocation, order));
  TRY_VOID(ReadKind(invocation, options));
  if (invocation.Has("device-name-strategy")) options.namings.clear();
  for (const std::string& word : invocation.GetAll("device-name-strategy")) {
    for (const NamingWord& each : kNamings) {
      if (each.word == word) options.namings.push_back(each.naming);
    }
  }
  if (invocation.Has("device-id")) options.device_ids = invocation.GetAll("device-id");
  options.all_device = !invocation.Has("no-all-device");
  options.best_effort = invocation.Has("best-effort");
  if (const auto most = invocation.Get("cdi-version-max")) {
    TRY(version, cdi::ParseVersion(*most), "--cdi-version-max");
    options.version_max = version;
  }
  TRY_VOID(ReadPlace(invocation, common, order));
  return order;
}

void Tell(const service::cdi::Generated& made, const service::cdi::NodeFiles& files) {
  for (const std::string& warning : files.driver.warnings) Warn(warning);
  for (const std::string& warning : made.warnings) Warn(warning);
  for (const base::Error& error : made.left_out) {
    ReportError(error);
  }
}

Result<int> GenerateAndSave(const base::Invocation& invocation) {
  TRY(common, ReadCommandOptions(invocation));
  TRY(order, ReadOrder(invocation, common));
  model::Inventory inventory;
  // Only GPUs are asked of the driver: whoever manages it must be described before it answers.
  if (order.generate.mode == Mode::kNvml) {
    TRY(read, ReadInventory(common));
    inventory = std::move(read);
  }
  TRY(files, service::cdi::ReadNodeFiles(order.files, inventory));
  TRY(made,
      service::cdi::Generate(inventory, files.driver, files.devices, files.places, order.generate));
  Tell(made, files);
  if (order.path.empty()) {
    const std::string text = order.json ? cdi::ToJson(made.spec) + "\n" : cdi::ToYaml(made.spec);
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    TRY(written, service::cdi::WriteSpecFile(order.path, made.spec));
    (void)written;
  }
  return made.left_out.empty() ? kExitDone : kExitNotApplied;
}

int RunCdiGenerate(const base::Invocation& invocation) {
  const Result<int> status = GenerateAndSave(invocation);
  return status.ok() ? *status : ReportError(status.error());
}

std::vector<Option> ContentOptions() {
  std::vector<std::string> namings;
  for (const NamingWord& each : kNamings) namings.emplace_back(each.word);
  return {
      {.name = "mode",
       .value_name = "MODE",
       .help = "what is described; auto means nvml, the GPUs",
       .choices = service::cdi::ModeNames(),
       .default_value = "auto"},
      {.name = "device-id",
       .value_name = "ID",
       .help = "only these devices, by index (0, 0:1), UUID or PCI address; all or none",
       .repeatable = true},
      {.name = "device-name-strategy",
       .value_name = "NAMING",
       .help = "how devices are called; index and uuid unless given",
       .choices = namings,
       .repeatable = true},
      {.name = "no-all-device", .help = "no device \"all\" that stands for all of them"},
      {.name = "best-effort",
       .help = "leave out a GPU that cannot be described, and end with status 3"},
      {.name = "vendor",
       .value_name = "NAME",
       .help = "the vendor of the devices",
       .default_value = "nvidia.com"},
      {.name = "class",
       .value_name = "NAME",
       .help = "the class of the devices; unless given gpu, or the mode's own"},
      {.name = "cdi-version-max",
       .value_name = "VERSION",
       .help = "leave out what is newer than this; podman before 5 takes 0.6.0"},
  };
}

std::vector<Option> PlaceOptions() {
  return {
      DevRootOption(),
      {.name = "library-search-path",
       .value_name = "DIR",
       .help = "look for libraries only here, below the driver root",
       .repeatable = true},
      {.name = "config-search-path",
       .value_name = "DIR",
       .help = "look for configuration files only here, below the driver root",
       .repeatable = true},
      HookPathOption(),
      LdconfigPathOption(),
      {.name = "disable-hook",
       .value_name = "HOOK",
       .help = "without this hook; all is every one",
       .suggestions = HookWords({"all"}),
       .repeatable = true},
      {.name = "enable-hook",
       .value_name = "HOOK",
       .help = "with this hook although it is off, as chmod is",
       .suggestions = HookWords({}),
       .repeatable = true},
      {.name = "feature-flag",
       .value_name = "FLAG",
       .help = "a switch of the reference: enable-explicit-driver-libraries, "
               "no-additional-gids-for-device-nodes or disable-ipc-discoverer",
       .suggestions = {std::string(service::cdi::kExplicitDriverLibraries),
                       std::string(service::cdi::kNoGroups), std::string(service::cdi::kNoSockets)},
       .repeatable = true},
  };
}

}  // namespace

base::Command CdiGenerateCommand() {
  std::vector<Option> options = ContentOptions();
  for (Option& option : PlaceOptions()) options.push_back(std::move(option));
  return {.name = "generate",
          .summary = "Describe this machine's GPUs",
          .description =
              "Prints a CDI specification of the GPUs and MIG devices of this machine, with the "
              "driver's files that a container needs, or writes it to FILE. The same machine gives "
              "the same bytes, and a file that has them is left as it is.\n\n"
              "A GPU in MIG mode is there as its MIG devices. A device that lacks a node is an "
              "error that names it: a slice without its nodes would be the whole GPU. Nothing is "
              "written then, or where another file of the directory describes devices of the same "
              "kind, which nobody could use.",
          .options = std::move(options),
          .arguments = {{.name = "FILE",
                         .help = "where to write it; without .yaml or .json at its end that of the "
                                 "format is added; - or nothing: it is printed",
                         .required = false}},
          .examples = {{"partita cdi generate /var/run/cdi/nvidia.yaml",
                        "for the engines of this machine"},
                       {"partita cdi generate --device-id 0:1 -o json", "one MIG device"},
                       {"partita cdi generate --driver-root /run/nvidia/driver",
                        "with the driver of a driver container"}},
          .run = RunCdiGenerate};
}

}  // namespace partita::cli
