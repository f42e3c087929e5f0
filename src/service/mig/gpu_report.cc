#include "service/mig/gpu_report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/holder.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {
namespace {

std::string TextOf(const GpuHolders& holders) {
  std::vector<std::string> texts;
  for (const model::Process& process : holders.processes)
    texts.push_back(model::HolderText(process));
  for (const model::HiddenHolder& holder : holders.hidden)
    texts.push_back(model::HolderText(holder));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string TextOf(const model::GpuIdentity& gpu, const GpuFailure& failure) {
  const std::string& hint = failure.error.hint();
  std::string text =
      failure.step.empty()
          ? fmt::format("{} ({}): {}", gpu.Name(), gpu.pci.ToString(), failure.error.ToString())
          : fmt::format("{}: {}: {}", gpu.Name(), failure.step, failure.error.ToString());
  if (!failure.holders.empty())
    text += fmt::format("; it is used by {}", TextOf(failure.holders));
  else if (!hint.empty())
    text += fmt::format(": {}", hint);
  return text;
}

std::string NowText(const GpuReport& gpu, const model::Inventory& after) {
  const model::Gpu* now = model::FindGpu(after, gpu.gpu);
  return now == nullptr ? "gone" : Describe(*now);
}

std::optional<std::string> EndText(const GpuReport& gpu, const model::Inventory& after) {
  const std::string name = gpu.gpu.Name();
  switch (gpu.end) {
    case GpuEnd::kPutBack:
      return fmt::format("{}: put back as it was: {}", name, NowText(gpu, after));
    case GpuEnd::kLeft:
      return fmt::format("{}: could not be put back ({}); it is now {}", name,
                         gpu.why_left ? gpu.why_left->ToString() : "it does not stay as it was",
                         NowText(gpu, after));
    case GpuEnd::kUnknown:
      return fmt::format(
          "{}: whether that took effect is not known yet, and nothing was put back: look again; it "
          "is now {}",
          name, NowText(gpu, after));
    case GpuEnd::kGone: return fmt::format("{}: could not be put back: it is gone", name);
    case GpuEnd::kStopped: return fmt::format("stopped before {}", name);
    case GpuEnd::kOtherwise:
      return fmt::format(
          "{}: every step succeeded, but it is now {}: is something else changing it?", name,
          NowText(gpu, after));
    case GpuEnd::kDone:
    case GpuEnd::kWaiting:
    case GpuEnd::kFailed:
    case GpuEnd::kOutOfReach: break;
  }
  return std::nullopt;
}

}  // namespace

GpuHolders GpuHolders::Of(const model::Gpu& gpu) { return {gpu.processes, gpu.hidden_holders}; }

bool GpuReport::Failed() const {
  return !failures.empty() || (end != GpuEnd::kDone && end != GpuEnd::kWaiting);
}

bool ApplyReport::Failed() const {
  return stopped || goal_error ||
         std::any_of(gpus.begin(), gpus.end(), [](const GpuReport& gpu) { return gpu.Failed(); });
}

std::vector<std::string> ErrorTexts(const std::vector<GpuReport>& gpus,
                                    const model::Inventory& after) {
  std::vector<std::string> texts;
  for (const GpuReport& gpu : gpus) {
    for (const GpuFailure& failure : gpu.failures) texts.push_back(TextOf(gpu.gpu, failure));
    if (std::optional<std::string> text = EndText(gpu, after)) texts.push_back(*std::move(text));
  }
  return texts;
}

std::vector<std::string> ErrorTexts(const ApplyReport& report) {
  std::vector<std::string> texts;
  if (report.stopped) texts.push_back("stopped before it was done");
  for (std::string& text : ErrorTexts(report.gpus, report.after)) texts.push_back(std::move(text));
  if (report.goal_error) texts.push_back(report.goal_error->ToString());
  return texts;
}

std::vector<std::string> WaitingTexts(const ApplyReport& report) {
  std::vector<std::string> texts;
  for (const GpuReport& gpu : report.gpus) {
    if (gpu.holders.empty()) continue;
    texts.push_back(fmt::format("{}: its MIG mode is pending; a reset must wait for {}",
                                gpu.gpu.Name(), TextOf(gpu.holders)));
  }
  return texts;
}

}  // namespace partita::service::mig
