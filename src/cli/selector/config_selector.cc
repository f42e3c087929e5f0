#include "cli/selector/config_selector.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "agent/file_watch.h"
#include "base/characters.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/reference_option.h"
#include "cli/selector/config_link.h"
#include "cli/selector/processes.h"
#include "config/document.h"
#include "config/plugin_config_options.h"
#include "kube/access.h"
#include "kube/client.h"
#include "net/loop.h"

namespace partita::cli {
namespace {

using base::LogKey;
using config::PluginOption;

// What the reference's `empty` links to.
constexpr const char* kNoConfig = "/dev/null";
constexpr int kMostSignal = 64;
// As long as the agent waits before it says so (agent/cluster).
constexpr std::chrono::seconds kWellAfter{6};

PluginOption SelectorRow(std::string flag,
                         std::string variable,
                         PluginOption::Type type,
                         std::string by_default,
                         std::string help) {
  PluginOption option;
  option.flags = {std::move(flag)};
  option.variables = {std::move(variable)};
  option.type = type;
  option.reference_default = std::move(by_default);
  option.help = std::move(help);
  return option;
}

const std::vector<PluginOption>& SelectorRows() {
  using enum PluginOption::Type;
  static const std::vector<PluginOption> rows = {
      SelectorRow("oneshot", "ONESHOT", kFlag, "false", "select once and end"),
      SelectorRow("kubeconfig", "KUBECONFIG", kText, "",
                  "how the API server is reached; empty: as a pod does"),
      SelectorRow("node-name", "NODE_NAME", kText, "", "the node whose label counts"),
      SelectorRow("node-label", "NODE_LABEL", kText, "nvidia.com/device-plugin.config",
                  "the label whose value is the name of a configuration"),
      SelectorRow("config-file-srcdir", "CONFIG_FILE_SRCDIR", kText, "",
                  "the folder of configurations, as a ConfigMap is mounted"),
      SelectorRow("config-file-dst", "CONFIG_FILE_DST", kText, "",
                  "the link that leads to the one that is selected"),
      SelectorRow("default-config", "DEFAULT_CONFIG", kText, "",
                  "the one that is taken where the label is not set"),
      SelectorRow(
          "fallback-strategies", "FALLBACK_STRATEGIES", kTexts, "",
          "where that is not given either, in order: named (the one called default), single "
          "(the only one), empty (none)"),
      SelectorRow("send-signal", "SEND_SIGNAL", kFlag, "true",
                  "signal whoever reads it when another one is selected, or its content changed"),
      SelectorRow("signal", "SIGNAL", kText, "1", "the number of that signal"),
      SelectorRow("process-to-signal", "PROCESS_TO_SIGNAL", kText, "nvidia-device-plugin",
                  "who that is, by the first word of its command line"),
  };
  return rows;
}

base::Result<std::string> Given(const config::FlagWords& words, const std::string& flag) {
  std::string value = words.own.at(flag);
  if (!value.empty()) return value;
  const auto& rows = SelectorRows();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const PluginOption& option) {
    return option.flags.front() == flag;
  });
  return base::MakeError(base::ErrorCode::kInvalid, "--{} (or {}) must be given", flag,
                         row->variables.front());
}

bool IsOn(const config::FlagWords& words, const std::string& flag) {
  const std::string& value = words.own.at(flag);
  return value == "1" || base::ToLower(value) == "t" || base::ToLower(value) == "true";
}

void SayError(const base::Error& error) {
  std::fputs(base::ErrorText(kConfigSelectorName, error).c_str(), stderr);
}

// Follows label and folder until it is told to end. Loop's thread only.
class Selector {
 public:
  Selector(net::Loop& loop, base::Log& log, SelectorOptions options)
      : loop_(loop),
        log_(log),
        options_(std::move(options)),
        folder_(loop, "configurations"),
        failure_(log, "the API server does not tell the node's label"),
        well_(loop.NewTimer("api-well")) {}

  base::Result<void> Start(kube::Client& client) {
    signals_ = loop_.OnSignals({SIGTERM, SIGINT, SIGQUIT, SIGHUP}, [this](int signal) {
      if (signal != SIGHUP) return End(kExitDone);
      if (label_) Select();
    });
    // A ConfigMap that is mounted turns a link when its content changes.
    TRY_VOID(folder_.Start(base::JoinPath(options_.folder, "any"), [this] {
      if (label_) Select();
    }));
    watching_ = client.Watch(
        "/api/v1/nodes", kube::FieldSelector("metadata.name", options_.node_name),
        {.seen = [this](const base::Value& node) { Saw(node); },
         .gone = [](const kube::ObjectName&) {},
         .synced =
             [this] {
               failure_.Succeeded();
               if (!label_)
                 log_.Warn("the node is not there yet", {{LogKey::kNode, options_.node_name}});
             },
         .failed =
             [this](const base::Error& error) {
               well_->Cancel();
               failure_.Failed(error);
             },
         .resumed =
             [this] {
               // One that is cut again and again is not well in between.
               well_->After(kWellAfter, [this] { failure_.Succeeded(); });
             }});
    return {};
  }

  [[nodiscard]] int status() const { return status_; }

 private:
  void Saw(const base::Value& node) {
    const base::Value* metadata = node.Find("metadata");
    const base::Value* labels = metadata == nullptr ? nullptr : metadata->Find("labels");
    const base::Value* value = labels == nullptr ? nullptr : labels->Find(options_.node_label);
    const bool set = value != nullptr && value->kind() == base::Value::Kind::kString;
    std::string label = set ? value->AsString() : "";
    if (label_ == label) return;
    label_ = std::move(label);
    Select();
  }

  void Select() {
    const base::Result<std::string> target = Target();
    if (!target.ok()) return Keep(target.error());
    base::Result<std::string> content = base::ReadFile(*target, config::Document::kMaxBytes);
    if (!content.ok()) return Keep(content.error());
    const base::Result<bool> turned = PointLink(options_.destination, *target);
    if (!turned.ok()) return Keep(turned.error());
    rejected_.clear();
    // Who was linked to it before has read it, or reads it when it starts.
    const bool another = *turned || (content_ && *content_ != *content);
    if (another || !content_) log_.Info("configuration selected", {{LogKey::kPath, *target}});
    content_ = *std::move(content);
    if (another && options_.send_signal) Signal();
    if (options_.oneshot) End(kExitDone);
  }

  base::Result<std::string> Target() {
    TRY(names, config::ConfigNames(options_.folder));
    TRY(choice, config::Choose(names, {.label = *label_,
                                       .default_name = options_.default_config,
                                       .fallback = options_.fallback,
                                       .source = options_.folder,
                                       .label_key = options_.node_label,
                                       .default_key = "--default-config (or DEFAULT_CONFIG)"}));
    return choice.name.empty() ? std::string(kNoConfig)
                               : base::JoinPath(options_.folder, choice.name);
  }

  // What was selected before stays, where there is one; without one nobody could start.
  void Keep(const base::Error& error) {
    if (std::exchange(rejected_, error.ToString()) != rejected_)
      log_.Error("no configuration selected: what is linked stays", base::ErrorFields(error));
    if (options_.oneshot || !base::Exists(options_.destination)) End(kExitError);
  }

  void Signal() {
    const std::vector<StartedProcess> processes = ReadProcesses("/proc");
    const std::optional<pid_t> pid = FindProcess(processes, options_.process);
    // It reads the file when it starts.
    if (!pid)
      return log_.Warn("no such process to signal; with one PID namespace it could be seen",
                       {{LogKey::kCommand, options_.process}});
    if (kill(*pid, options_.signal) != 0)
      return log_.Error("not signalled",
                        base::ErrorFields(base::ErrnoError(fmt::format("signal pid {}", *pid))));
    log_.Info("signalled", {{LogKey::kPid, std::int64_t{*pid}}});
  }

  void End(int status) {
    status_ = status;
    watching_.reset();
    loop_.Stop();
  }

  net::Loop& loop_;
  base::Log& log_;
  SelectorOptions options_;
  agent::FileWatch folder_;
  std::unique_ptr<net::SignalWatch> signals_;
  std::unique_ptr<kube::Watching> watching_;
  std::optional<std::string> label_;    // absent: not told
  std::optional<std::string> content_;  // of what is selected
  std::string rejected_;                // told
  base::RepeatedFailure failure_;
  std::unique_ptr<net::Timer> well_;
  int status_ = kExitError;
};

int RunSelector(SelectorOptions options) {
  base::Result<kube::Access> access =
      kube::FindAccess(options.kubeconfig, kube::ProcessEnvironment());
  if (!access.ok()) {
    SayError(access.error());
    return kExitError;
  }
  const std::unique_ptr<net::Loop> loop = net::NewLoop();
  base::Log log(loop->clock(), base::StandardErrorSink());
  const std::unique_ptr<kube::Client> client =
      kube::NewClient(*loop, "api-server", *std::move(access), kube::SystemRandom(),
                      fmt::format("{}/{}", kConfigSelectorName, Version()));
  Selector selector(*loop, log, std::move(options));
  if (const base::Result<void> started = selector.Start(*client); !started.ok()) {
    SayError(started.error());
    return kExitError;
  }
  loop->Run();
  return selector.status();
}

}  // namespace

base::Result<config::FlagWords> ReadSelectorWords(std::span<const std::string> words,
                                                  const config::Variables& variables) {
  return config::ReadFlagWords(SelectorRows(), words, variables);
}

base::Result<SelectorOptions> ReadSelectorOptions(const config::FlagWords& words) {
  TRY(node_name, Given(words, "node-name"));
  TRY(node_label, Given(words, "node-label"));
  TRY(folder, Given(words, "config-file-srcdir"));
  TRY(destination, Given(words, "config-file-dst"));
  TRY(fallback, config::ParseFallbacks(words.own.at("fallback-strategies")),
      "--fallback-strategies");
  // The reference's chart sets variables to nothing where they do not matter.
  const std::string signal = words.own.at("signal").empty() ? "1" : words.own.at("signal");
  const std::optional<std::uint64_t> number = base::ParseUnsigned(signal);
  if (!number || *number < 1 || *number > kMostSignal)
    return base::MakeError(base::ErrorCode::kInvalid, "--signal: {} is no number of a signal",
                           base::Quoted(signal))
        .WithHint("1 is SIGHUP");
  return SelectorOptions{.oneshot = IsOn(words, "oneshot"),
                         .kubeconfig = words.own.at("kubeconfig"),
                         .node_name = std::move(node_name),
                         .node_label = std::move(node_label),
                         .folder = std::move(folder),
                         .destination = std::move(destination),
                         .default_config = words.own.at("default-config"),
                         .fallback = std::move(fallback),
                         .send_signal = IsOn(words, "send-signal"),
                         .signal = static_cast<int>(*number),
                         .process = words.own.at("process-to-signal")};
}

base::Program MakeConfigSelectorProgram() {
  base::Program program;
  // The version of the reference whose flags these are.
  program.version = fmt::format("version 0.20.0 (partita {})", Version());
  program.root = {
      .name = std::string(kConfigSelectorName),
      .summary =
          "Keep a link at the configuration that a node's label selects; partita under the name of "
          "NVIDIA's",
      .description =
          "For manifests that run it as init container (--oneshot) and sidecar of the device "
          "plugin, feature discovery or MPS. partita agent selects by itself and needs none of "
          "it.\n\n"
          "A flag wins over a variable. The label counts first, then --default-config, then the "
          "fallbacks. A name that is none, and a folder that cannot be read, change nothing and "
          "are told; where nothing was linked before, they end the program. SIGHUP looks again."};
  for (const PluginOption& option : SelectorRows())
    program.root.options.push_back(ReferenceOption(option));
  program.exit_statuses = {{kExitDone, "selected (--oneshot), or stopped"},
                           {kExitError, "an error"}};
  return program;
}

int ConfigSelectorMain(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const base::Program program = MakeConfigSelectorProgram();
  const base::Result<config::FlagWords> read = ReadSelectorWords(
      words, [](const std::string& name) { return base::ReadVariable(name.c_str()); });
  if (!read.ok()) {
    fmt::print("Incorrect Usage: {}\n\n{}", read.error().message(), base::HelpText(program, {}));
    SayError(read.error());
    return kExitError;
  }
  if (read->help) {
    fmt::print("{}", base::HelpText(program, {}));
    return kExitDone;
  }
  if (read->version) {
    fmt::print("{} {}\n", kConfigSelectorName, program.version);
    return kExitDone;
  }
  base::Result<SelectorOptions> options = ReadSelectorOptions(*read);
  if (!options.ok()) {
    SayError(options.error());
    return kExitError;
  }
  for (const std::string& word : read->ignored)
    fmt::print(stderr, "{}: warning: ignored: {}\n", kConfigSelectorName, base::Quoted(word));
  return RunSelector(*std::move(options));
}

}  // namespace partita::cli
