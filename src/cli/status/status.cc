#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/output_format.h"
#include "base/text.h"
#include "base/value.h"
#include "cli/command_options.h"
#include "cli/commands.h"
#include "cli/draw/screen.h"
#include "cli/draw/terminal.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"
#include "cli/status/draw_status.h"
#include "cli/status/node_source.h"
#include "cli/status/status_document.h"
#include "cli/status/watch.h"
#include "model/gpu_selection.h"
#include "model/node_report.h"
#include "model/unread.h"

namespace partita::cli {

namespace {

using base::OutputFormat;

struct StatusOptions : CommandOptions {
  bool details = false;
  std::optional<WatchPlan> watch;
};

base::Result<std::chrono::milliseconds> ParseInterval(const std::string& text) {
  constexpr double kShortest = 0.1, kLongest = 86400;
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool number = end != text.c_str() && *end == '\0' && std::isfinite(seconds);
  if (!number || seconds < kShortest || seconds > kLongest) {
    return base::MakeError(base::ErrorCode::kInvalid, "{}: not a number of seconds from {} to {}",
                           base::Quoted(text), kShortest, kLongest);
  }
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

base::Result<std::optional<WatchPlan>> ParseWatch(const base::Invocation& invocation) {
  const bool watching = invocation.Has("watch");
  if (!watching && !invocation.arguments().empty()) {
    return base::MakeError(base::ErrorCode::kInvalid, "unexpected argument {}",
                           base::Quoted(invocation.arguments()[0]))
        .WithHint("a number of seconds goes with --watch; a GPU is named with --gpu");
  }
  if (!watching && invocation.Has("count")) {
    return base::Error(base::ErrorCode::kInvalid, "--count needs --watch");
  }
  if (!watching) return std::optional<WatchPlan>();
  WatchPlan plan;
  if (!invocation.arguments().empty()) {
    TRY(interval, ParseInterval(invocation.arguments()[0]), "--watch");
    plan.interval = interval;
  }
  if (const std::optional<std::string> count = invocation.Get("count")) {
    plan.count = base::ParseUnsigned(*count);
    if (!plan.count || *plan.count == 0) {
      return base::MakeError(base::ErrorCode::kInvalid, "--count {}: not a number above zero",
                             base::Quoted(*count));
    }
  }
  return std::optional(plan);
}

base::Result<StatusOptions> ParseOptions(const base::Invocation& invocation) {
  TRY(watch, ParseWatch(invocation));
  TRY(common, ReadCommandOptions(invocation));
  return StatusOptions{std::move(common), invocation.Has("details"), watch};
}

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

// Domains of MPS that have nothing of what is shown are not shown either.
void KeepShown(model::NodeReport& report) {
  std::set<std::string> shown;
  for (const model::Gpu& gpu : report.inventory.gpus) {
    if (gpu.uuid) shown.insert(gpu.uuid->value());
    if (!gpu.mig) continue;
    for (const model::GpuInstance& instance : gpu.mig->instances)
      for (const model::ComputeInstance& compute : instance.compute_instances)
        shown.insert(compute.uuid.value());
  }
  std::erase_if(report.mps, [&](const model::MpsDomain& domain) {
    return std::none_of(domain.devices.begin(), domain.devices.end(),
                        [&](const std::string& device) { return shown.contains(device); });
  });
}

base::Result<model::NodeReport> LookAtNode(NodeSource& source, const StatusOptions& options) {
  model::NodeReport report;
  report.host = HostName();
  report.time = Now();
  auto [inventory, stale, mps] = source.Look();
  report.stale = std::move(stale);
  report.mps = std::move(mps);
  report.gpus_on_node = inventory.gpus.size();
  // Without a driver there is no GPU to choose from: that is the news, not the choice.
  if (inventory.driver) {
    TRY(selected, model::SelectGpus(std::move(inventory), options.gpus));
    report.inventory = std::move(selected);
    if (!options.gpus.empty()) KeepShown(report);
  } else {
    report.inventory = std::move(inventory);
    if (std::optional<base::Error>& error = report.inventory.driver_error) {
      error = SayWhereToFind(*std::move(error));
    }
  }
  return report;
}

// One report in the form asked for. `streamed`: one of many in a row.
std::string Render(const model::NodeReport& report, const StatusOptions& options, bool streamed) {
  switch (options.format) {
    case OutputFormat::kText:
      return ToString(DrawStatus(report, options.details, options.look), options.look.colour) +
             (streamed ? "\n" : "");
    case OutputFormat::kJson:
      return streamed ? base::ToJsonLine(StatusDocument(report)) + "\n"
                      : base::ToJson(StatusDocument(report));
    case OutputFormat::kYaml:
      return (streamed ? "---\n" : "") + base::ToYaml(StatusDocument(report));
  }
  return "";
}

int ShowOnce(NodeSource& source, const StatusOptions& options) {
  const base::Result<model::NodeReport> report = LookAtNode(source, options);
  if (!report.ok()) return ReportError(report.error());
  const model::Inventory& inventory = report->inventory;
  const int status = inventory.driver ? kExitDone : kExitNoDriver;
  const bool nothing_else = inventory.gpus.empty() && inventory.vfio.empty();
  if (!inventory.driver && inventory.driver_error && nothing_else &&
      options.format == OutputFormat::kText) {
    return ReportError(model::WhyNoDriver(inventory));
  }
  const std::string text = Render(*report, options, false);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return status;
}

int Watch(NodeSource& source, const StatusOptions& options, SignalQueue& signals) {
  // The first look decides whether there is anything to watch.
  base::Result<model::NodeReport> report = LookAtNode(source, options);
  if (!report.ok()) return ReportError(report.error());
  if (!report->inventory.driver && report->inventory.driver_error) {
    return ReportError(model::WhyNoDriver(report->inventory));
  }
  bool fresh = true;
  const auto refresh = [&]() -> const model::NodeReport& {
    if (!std::exchange(fresh, false)) {
      base::Result<model::NodeReport> next = LookAtNode(source, options);
      // A GPU that was chosen and is gone: the last that was seen of it stays.
      if (next.ok()) report = std::move(next);
    }
    return *report;
  };
  if (options.format != OutputFormat::kText || !Terminal::Of(STDOUT_FILENO).interactive) {
    return WatchAsStream(signals, *options.watch, [&] { return Render(refresh(), options, true); });
  }
  return WatchOnScreen(signals, *options.watch, [&](const Terminal& terminal, Look& chosen) {
    // The wish was checked before.
    chosen = ChooseLook(options.wish, terminal, base::ReadVariable).value();
    return DrawStatus(refresh(), options.details, chosen);
  });
}

}  // namespace

int RunStatus(const base::Invocation& invocation) {
  const base::Result<StatusOptions> options = ParseOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  if (!options->watch) {
    NodeSource source = SourceFor(options->reader);
    return ShowOnce(source, *options);
  }
  // Before the first look, whose threads inherit what is blocked.
  base::Result<SignalQueue> signals = SignalQueue::Create();
  if (!signals.ok()) return ReportError(signals.error());
  NodeSource source = SourceFor(options->reader);
  return Watch(source, *options, *signals);
}

}  // namespace partita::cli
