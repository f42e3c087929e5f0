#include "cli/mig/validate.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/draw/quantity.h"
#include "cli/exit_status.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/mig/request.h"
#include "cli/report_error.h"
#include "model/selector.h"
#include "service/mig/node_goal.h"
#include "service/mig/node_plan.h"

namespace partita::cli {

namespace {

using base::Value;

// More than any node has; a file that names GPU 4000000000 is not worth so much memory.
constexpr std::uint32_t kMostGpus = 64;

// What exists says nothing about a configuration.
model::Inventory Emptied(model::Inventory node) {
  for (model::Gpu& gpu : node.gpus) {
    gpu.processes.clear();
    if (gpu.mig) gpu.mig->instances.clear();
  }
  return node;
}

struct ValidateOptions : MigOptions {
  std::string path;                 // of the configurations
  std::optional<std::string> name;  // of the only one that is meant
};

base::Result<ValidateOptions> ReadValidateOptions(const base::Invocation& invocation) {
  TRY(common, ReadMigOptions(invocation));
  return ValidateOptions{std::move(common), invocation.Get("config-file").value_or(""),
                         invocation.Get("selected-config")};
}

base::Result<std::vector<config::MigConfig>> Chosen(const config::MigConfigFile& file,
                                                    const std::optional<std::string>& name) {
  if (!name) return file.configs();
  TRY(config, file.Select(*name));
  return std::vector<config::MigConfig>{*config};
}

}  // namespace

ConfigVerdict Validate(const config::MigConfigFile& file,
                       const config::MigConfig& config,
                       const model::Inventory& node) {
  ConfigVerdict verdict{config.name, 0, {}};
  const model::Inventory empty = Emptied(node);
  const base::Result<service::mig::NodeGoal> goal =
      service::mig::ResolveConfig(file, config, empty);
  if (!goal.ok()) {
    verdict.reasons.push_back(goal.error().ToString());
    return verdict;
  }
  verdict.gpus = goal->size();
  for (const service::mig::GpuOutcome& outcome : service::mig::PlanNode(empty, *goal).gpus) {
    if (!std::holds_alternative<model::Refusal>(outcome.plan)) continue;
    for (std::string& reason : service::mig::Reasons(empty, outcome)) {
      verdict.reasons.push_back(std::move(reason));
    }
  }
  return verdict;
}

model::Inventory ModelNode(const model::Gpu& gpu, const std::vector<config::MigConfig>& configs) {
  std::uint32_t count = 1;
  for (const config::MigConfig& config : configs) {
    for (const config::MigSpec& spec : config.specs) {
      for (const model::GpuSelector& selector : spec.devices) {
        if (const auto* index = std::get_if<model::GpuIndex>(&selector.choice())) {
          count = std::max(count, std::min(index->value(), kMostGpus - 1) + 1);
        }
      }
    }
  }
  model::Inventory node;
  for (std::uint32_t i = 0; i < count; ++i) {
    node.gpus.push_back(gpu);
    node.gpus.back().index = model::GpuIndex(i);
  }
  return node;
}

Lines DrawVerdicts(const std::vector<ConfigVerdict>& verdicts, const Look& look) {
  Lines lines;
  for (const ConfigVerdict& verdict : verdicts) {
    const bool valid = verdict.reasons.empty();
    Line line = Line().Add(Clean(verdict.name, look.utf8), Ink::kStrong).Add(": ");
    if (valid && verdict.gpus == 0) {
      line.Add("valid, but for none of these GPUs", Ink::kWarning);
    } else if (valid) {
      line.Add(fmt::format("valid for {}", Count(verdict.gpus, "GPU", "GPUs")));
    } else {
      line.Add("invalid", Ink::kFault);
    }
    lines.push_back(std::move(line));
    for (const std::string& reason : verdict.reasons) {
      // Places in a file keep their shape: carets point at columns.
      for (const std::string_view row : base::SplitLines(reason)) {
        lines.push_back(Line().PadTo(3).Add(Clean(row, look.utf8)));
      }
    }
  }
  if (lines.empty()) lines.push_back(Line().Add("the file holds no configuration"));
  return lines;
}

Value VerdictsDocument(const std::vector<ConfigVerdict>& verdicts) {
  Value configs = Value::List();
  bool valid = true;
  for (const ConfigVerdict& verdict : verdicts) {
    Value reasons = Value::List();
    for (const std::string& reason : verdict.reasons) reasons.Add(reason);
    valid = valid && verdict.reasons.empty();
    configs.Add(Value::Map()
                    .Set("name", verdict.name)
                    .Set("valid", verdict.reasons.empty())
                    .Set("gpus", verdict.gpus)
                    .Set("reasons", std::move(reasons)));
  }
  return Value::Map()
      .Set("apiVersion", "partita.dev/mig/v1")
      .Set("kind", "MigValidation")
      .Set("valid", valid)
      .Set("configs", std::move(configs));
}

int RunMigValidate(const base::Invocation& invocation) {
  const base::Result<ValidateOptions> options = ReadValidateOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  const base::Result<config::MigConfigFile> file = LoadMigConfig(options->path);
  if (!file.ok()) return ReportError(file.error());
  const base::Result<std::vector<config::MigConfig>> configs = Chosen(*file, options->name);
  if (!configs.ok()) return ReportError(configs.error());
  return WithMigNode(*options, [&](const model::Inventory& node) {
    const model::Inventory judged = options->model ? ModelNode(node.gpus.front(), *configs) : node;
    std::vector<ConfigVerdict> verdicts;
    for (const config::MigConfig& config : *configs) {
      verdicts.push_back(Validate(*file, config, judged));
    }
    Print(*options, VerdictsDocument(verdicts),
          [&](const Look& look) { return DrawVerdicts(verdicts, look); });
    const bool valid = std::all_of(verdicts.begin(), verdicts.end(),
                                   [](const ConfigVerdict& v) { return v.reasons.empty(); });
    return valid ? kExitDone : kExitInvalidInput;
  });
}

}  // namespace partita::cli
