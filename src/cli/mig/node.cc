#include "cli/mig/node.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/report_error.h"
#include "config/products.h"
#include "model/gpu_selection.h"
#include "model/unread.h"
#include "model/words.h"

namespace partita::cli {

namespace {

model::Inventory NodeOf(model::Gpu gpu) {
  model::Inventory node;
  node.gpus.push_back(std::move(gpu));
  return node;
}

}  // namespace

base::Result<MigOptions> ReadMigOptions(const base::Invocation& invocation) {
  TRY(common, ReadCommandOptions(invocation));
  MigOptions options{std::move(common), invocation.Get("model")};
  options.reader.readings = false;
  options.reader.only_mig = true;
  if (options.model && !options.gpus.empty()) {
    return base::MakeError(base::ErrorCode::kInvalid, "--gpu and --model exclude each other")
        .WithHint("--model speaks of a product, not of the GPUs of this machine");
  }
  return options;
}

base::Result<model::Inventory> ReadMigNode(const MigOptions& options) {
  if (options.model) {
    TRY(gpu, config::ProductGpu(*options.model), "--model");
    return NodeOf(std::move(gpu));
  }
  service::inventory::Reader reader(options.reader);
  model::Inventory node = reader.Read();
  if (!node.driver) return SayWhereToFind(model::WhyNoDriver(node));
  return model::SelectGpus(std::move(node), options.gpus);
}

int WithMigNode(const MigOptions& options, const MigWork& work) {
  const base::Result<model::Inventory> node = ReadMigNode(options);
  return node.ok() ? work(*node) : ReportError(node.error());
}

void Print(const MigOptions& options,
           const base::Value& document,
           const std::function<Lines(const Look&)>& draw) {
  PrintAs(options.format, document, ToString(draw(options.look), options.look.colour));
}

void PrintConfig(const MigOptions& options, const base::Value& config) {
  const std::string text =
      options.format == base::OutputFormat::kJson ? base::ToJson(config) : base::ToYaml(config);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

std::vector<GpuKind> MigKinds(const model::Inventory& node) {
  std::vector<GpuKind> kinds;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const model::Gpu& gpu = node.gpus[i];
    if (!gpu.mig) continue;
    model::MigGeometry geometry = model::MigGeometry::Of(gpu.mig->profiles);
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const GpuKind& kind) {
      return node.gpus[kind.gpus.front()].name == gpu.name && kind.geometry == geometry;
    });
    if (same != kinds.end()) {
      same->gpus.push_back(i);
    } else {
      kinds.push_back({{i}, std::move(geometry)});
    }
  }
  return kinds;
}

std::string NumberRanges(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += fmt::format("{}", numbers[i]);
    if (last == i + 1) text += fmt::format(",{}", numbers[last]);
    if (last > i + 1) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string GpuNumbers(const model::Inventory& node, const std::vector<std::size_t>& gpus) {
  std::vector<std::uint32_t> numbers;
  for (const std::size_t gpu : gpus) {
    if (node.gpus[gpu].index) numbers.push_back(node.gpus[gpu].index->value());
  }
  if (numbers.empty()) return "";
  return fmt::format("{} {}", numbers.size() == 1 ? "GPU" : "GPUs", NumberRanges(numbers));
}

std::string GpuLabel(const model::Gpu& gpu) {
  if (gpu.index) return fmt::format("GPU {}", *gpu.index);
  if (gpu.pci != model::PciAddress()) return PciText(gpu);
  return gpu.name;
}

Line KindHeading(const model::Inventory& node, const GpuKind& kind, const Look& look) {
  const Glyphs& glyphs = look.glyphs();
  Line line = Line().Add(Repeat(glyphs.rule, 2), Ink::kFaint).Add(" ");
  const std::string numbers = GpuNumbers(node, kind.gpus);
  if (!numbers.empty()) line.Add(numbers, Ink::kStrong).Add("  ");
  const std::string name = Clean(node.gpus[kind.gpus.front()].name, look.utf8);
  line.Add(Fit(name, look.width - line.width() - 3, glyphs), Ink::kStrong).Add(" ");
  return line.Add(Repeat(glyphs.rule, std::max(look.width - line.width(), 0)), Ink::kFaint);
}

Lines DrawNotCapable(const model::Inventory& node, const Look& look) {
  Lines lines;
  for (const model::Gpu& gpu : node.gpus) {
    if (gpu.mig) continue;
    const std::string label = GpuLabel(gpu);
    Line first = Line().Add(label, Ink::kStrong).Add(" ");
    const std::string name = Clean(gpu.name, look.utf8);
    const std::optional<base::Error> unknown = model::WhyMigUnknown(gpu);
    const std::string why = unknown ? unknown->ToString() : "cannot do MIG";
    const std::string text =
        label == gpu.name ? why : fmt::format("{} {}", name, Clean(why, look.utf8));
    Append(Wrapped(first, kIndent, text, Ink::kPlain, look), lines);
  }
  return lines;
}

base::Value GpuList(const model::Inventory& node, const std::vector<std::size_t>& gpus) {
  base::Value list = base::Value::List();
  for (const std::size_t position : gpus) {
    const model::Gpu& gpu = node.gpus[position];
    if (gpu.index) {
      list.Add(gpu.index->value());
    } else if (gpu.pci != model::PciAddress()) {
      list.Add(gpu.pci.ToString());
    }
  }
  return list;
}

}  // namespace partita::cli
