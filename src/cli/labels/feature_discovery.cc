#include "cli/labels/feature_discovery.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "base/value.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/labels/publish_node_feature.h"
#include "cli/reference_option.h"
#include "config/discovery_flags.h"
#include "config/document.h"
#include "model/unread.h"
#include "service/inventory/node_facts.h"
#include "service/inventory/reader.h"
#include "service/labels/labels.h"
#include "service/labels/outputs.h"

namespace partita::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using config::DiscoverySettings;
using service::labels::Labels;
using service::labels::Rendering;

constexpr std::chrono::seconds kShortestSleep{1};

void SayLine(const std::string& text) {
  fmt::print(stderr, "{}: {}\n", kFeatureDiscoveryName, base::Printable(text, "\n"));
}

void SayWrong(const Error& error) {
  std::fputs(base::ErrorText(kFeatureDiscoveryName, error).c_str(), stderr);
}

// What is in force, from the start or from a SIGHUP on.
struct InForce {
  config::PluginConfig config;
  std::int64_t since = 0;
};

// The reference's default.
bool AsNodeFeature(const DiscoverySettings& settings) {
  return settings.use_node_feature_api.value_or(true);
}

void SayInForce(const config::PluginConfig& config) {
  const DiscoverySettings& own = config.feature_discovery;
  const std::string interval =
      own.sleep_interval
          ? fmt::format("{}s", std::chrono::duration<double>(*own.sleep_interval).count())
          : "infinite";
  Value document = config::PluginConfigDocument(config);
  Value flags = *document.Find("flags");
  flags.Set("useNodeFeatureAPI", AsNodeFeature(own))
      .Set("gfd", Value::Map()
                      .Set("oneshot", own.oneshot)
                      .Set("noTimestamp", own.no_timestamp)
                      .Set("sleepInterval", interval)
                      .Set("outputFile", own.output_file)
                      .Set("machineTypeFile", own.machine_type_file));
  document.Set("flags", std::move(flags));
  fmt::print(stderr, "Running with config:\n{}", base::ToJson(document));
}

base::Result<InForce> Load(const config::DiscoveryFlags& flags) {
  std::string text;
  if (!flags.config_file.empty()) {
    TRY(content, base::ReadRegularFile(flags.config_file, config::Document::kMaxBytes));
    text = std::move(content);
  }
  TRY(parsed, config::ParsePluginConfig(std::move(text), flags.config_file,
                                        config::PluginDefaults::kFeatureDiscovery, false, false,
                                        flags.overrides));
  for (const std::string& warning : parsed.warnings) SayLine("warning: " + warning);
  SayInForce(parsed.config);
  return InForce{std::move(parsed.config), std::time(nullptr)};
}

bool IsDirectory(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

// A session of its own for each look: while one is open, the GPUs count as used.
model::Inventory LookAtGpus(const config::PluginConfig& config) {
  service::inventory::ReaderOptions options;
  options.readings = false;
  if (IsDirectory(config.container_driver_root)) options.driver_root = config.container_driver_root;
  return service::inventory::Reader(options).Read();
}

model::NodeFacts FactsFor(const DiscoverySettings& settings) {
  model::NodeFacts facts = service::inventory::ReadNodeFacts("/");
  facts.machine.reset();
  if (settings.machine_type_file.empty()) return facts;
  base::Result<std::string> machine = base::ReadFile(settings.machine_type_file);
  if (machine.ok())
    facts.machine = *std::move(machine);
  else
    SayLine("warning: " + machine.error().ToString());
  return facts;
}

base::Result<void> PublishLabels(const config::DiscoveryFlags& flags, const Labels& labels) {
  std::vector<std::string> warnings;
  base::Result<void> published = PublishNodeFeature(
      {flags.kubeconfig, flags.name_space, flags.node_name, flags.pod_name}, labels, warnings);
  for (const std::string& warning : warnings) SayLine("warning: " + warning);
  if (published.ok() || published.error().code() != ErrorCode::kNotFound) return published;
  return Error(published.error())
      .WithHint(
          "NFD has to be installed, and this a pod or --kubeconfig given; with "
          "--use-node-feature-api=false labels go to --output-file");
}

base::Result<void> WriteLabels(const DiscoverySettings& settings, const Labels& labels) {
  const std::string text = service::labels::ToFeatureFile(labels);
  if (settings.output_file.empty()) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      return base::ErrnoError("write labels to standard output");
    return {};
  }
  return base::WriteFileAtomically(settings.output_file, text, 0644, base::Heritage::kNothing);
}

// One look, and its labels written.
base::Result<void> LabelOnce(const InForce& in_force, const config::DiscoveryFlags& flags) {
  const DiscoverySettings& settings = in_force.config.feature_discovery;
  const model::Inventory inventory = LookAtGpus(in_force.config);
  if (!inventory.driver) {
    const Error why = model::WhyNoDriver(inventory);
    if (in_force.config.fail_on_init_error) return why;
    SayLine(fmt::format("warning: {}; labels tell no GPU", why.ToString()));
  }
  service::labels::Options options{.started = std::nullopt, .ours = false};
  if (!settings.no_timestamp) options.started = in_force.since;
  const Rendering rendering =
      service::labels::Render(inventory, in_force.config, FactsFor(settings), options);
  if (flags.bad_mig_strategy && rendering.labels.contains("nvidia.com/gpu.count"))
    return *flags.bad_mig_strategy;
  for (const std::string& warning : rendering.warnings) SayLine("warning: " + warning);
  if (rendering.labels.size() <= 1) SayLine("warning: there is nothing to label");
  return AsNodeFeature(settings) ? PublishLabels(flags, rendering.labels)
                                 : WriteLabels(settings, rendering.labels);
}

class Signals {
 public:
  // From here on they wait to be taken, in threads that are started later too.
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT}) sigaddset(&set_, signal);
    sigprocmask(SIG_BLOCK, &set_, nullptr);
  }

  // The next one; nothing when the time is over.
  [[nodiscard]] std::optional<int> Await(std::optional<std::chrono::nanoseconds> time) const {
    while (true) {
      timespec limit{};
      if (time) {
        const std::chrono::nanoseconds wait =
            std::max<std::chrono::nanoseconds>(*time, kShortestSleep);
        limit.tv_sec = static_cast<std::time_t>(wait.count() / 1'000'000'000);
        limit.tv_nsec = static_cast<long>(wait.count() % 1'000'000'000);
      }
      const int signal = time ? sigtimedwait(&set_, nullptr, &limit) : sigwaitinfo(&set_, nullptr);
      if (signal > 0) return signal;
      if (errno != EINTR) return std::nullopt;
    }
  }

 private:
  sigset_t set_{};
};

// What fails again with the same words is said once.
class Failures {
 public:
  void Note(const base::Result<void>& result) {
    if (result.ok()) {
      if (!last_.empty()) SayLine("labels are written again");
      last_.clear();
    } else if (last_ != result.error().ToString()) {
      SayWrong(result.error());
      SayLine("the labels that were written last stay");
      last_ = result.error().ToString();
    }
  }

 private:
  std::string last_;
};

int Keep(const config::DiscoveryFlags& flags, InForce in_force) {
  const Signals signals;
  // A first time that fails ends the program, so that whoever started it learns of it.
  const base::Result<void> first = LabelOnce(in_force, flags);
  if (!first.ok()) {
    SayWrong(first.error());
    return kExitError;
  }
  Failures failures;
  while (true) {
    const std::optional<int> signal =
        signals.Await(in_force.config.feature_discovery.sleep_interval);
    if (signal && *signal != SIGHUP) return kExitDone;
    if (signal) {
      base::Result<InForce> loaded = Load(flags);
      if (!loaded.ok()) {
        SayWrong(loaded.error());
        SayLine("the configuration from before stays in force");
        continue;
      }
      in_force = *std::move(loaded);
    }
    failures.Note(LabelOnce(in_force, flags));
  }
}

int Discover(const config::DiscoveryFlags& flags) {
  for (const std::string& word : flags.ignored) SayLine("warning: ignored: " + base::Quoted(word));
  base::Result<InForce> in_force = Load(flags);
  if (!in_force.ok()) {
    SayWrong(in_force.error());
    return kExitError;
  }
  if (!in_force->config.feature_discovery.oneshot) return Keep(flags, *std::move(in_force));
  const base::Result<void> labelled = LabelOnce(*in_force, flags);
  if (labelled.ok()) return kExitDone;
  SayWrong(labelled.error());
  return kExitError;
}

}  // namespace

base::Program MakeFeatureDiscoveryProgram() {
  base::Program program;
  // The version of the reference whose flags and configuration these are.
  program.version = fmt::format("version 0.20.0 (partita {})", Version());
  program.root = {
      .name = std::string(kFeatureDiscoveryName),
      .summary =
          "Write labels that describe NVIDIA GPUs; partita under the name of NVIDIA's feature "
          "discovery",
      .description =
          "A flag wins over a variable, that over the file, the file over the default, for each "
          "option alone. Labels are looked up at intervals and written where they differ: into "
          "the NodeFeature object of this node, or, with --use-node-feature-api=false, sorted "
          "into a file that NFD's worker reads. Both stay when the program ends. SIGHUP reads "
          "the configuration again; one that is bad changes nothing.",
      .examples = {{"gpu-feature-discovery --oneshot --use-node-feature-api=false -o ''",
                    "print the labels of this node"},
                   {"gpu-feature-discovery --use-node-feature-api=false --mig-strategy=mixed",
                    "keep NFD's file up to date"}}};
  for (const config::PluginOption& option : config::DiscoveryOptions())
    program.root.options.push_back(ReferenceOption(option));
  program.exit_statuses = {{kExitDone, "labelled, or stopped"}, {kExitError, "an error"}};
  return program;
}

int FeatureDiscoveryMain(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const base::Program program = MakeFeatureDiscoveryProgram();
  const base::Result<config::DiscoveryFlags> flags = config::ReadDiscoveryFlags(
      words, [](const std::string& name) { return base::ReadVariable(name.c_str()); });
  if (!flags.ok()) {
    fmt::print("Incorrect Usage: {}\n\n{}", flags.error().message(), base::HelpText(program, {}));
    SayWrong(flags.error());
    return kExitError;
  }
  if (flags->help) {
    fmt::print("{}", base::HelpText(program, {}));
    return kExitDone;
  }
  if (flags->version) {
    fmt::print("{} {}\n", kFeatureDiscoveryName, program.version);
    return kExitDone;
  }
  return Discover(*flags);
}

}  // namespace partita::cli
