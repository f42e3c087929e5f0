#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/files.h"
#include "cli/agent/settings.h"
#include "cli/answer.h"
#include "cli/command_options.h"
#include "cli/draw/drawing.h"
#include "cli/exit_status.h"
#include "cli/explain/commands.h"
#include "cli/explain/draw_pod.h"
#include "cli/explain/node_view.h"
#include "cli/report_error.h"
#include "config/known/known_nodes.h"
#include "config/manifest/pod_manifest.h"
#include "config/products.h"
#include "service/explain/document.h"

namespace partita::cli {
namespace {

using config::ManifestFile;
using service::explain::AnsweredPod;

base::Result<std::vector<ManifestFile>> ReadManifests(const std::vector<std::string>& paths) {
  std::vector<ManifestFile> files;
  for (const std::string& path : paths) {
    const bool input = path == "-";
    base::Result<std::string> text =
        base::ReadFile(input ? "/dev/stdin" : path, config::Document::kMaxBytes);
    if (!text.ok())
      return std::move(text).error().WithHint(
          "name the file of the pod with -f; \"-f -\" takes it from standard input, as of kubectl "
          "get pod NAME -o yaml");
    TRY(file, ManifestFile::Parse(*std::move(text), input ? "standard input" : path));
    files.push_back(std::move(file));
  }
  return files;
}

struct Answered {
  std::vector<AnsweredPod> pods;
  std::string drawing;
  bool all_run = true;
};

Answered AnswerAll(const std::vector<ManifestFile>& files,
                   const service::explain::NodeView& node,
                   const Look& look) {
  Answered answered;
  service::explain::Explainer explainer(node);
  for (const ManifestFile& file : files) {
    for (const config::PodManifest& pod : file.pods()) {
      service::explain::PodAnswer answer = explainer.Explain(pod);
      if (!answered.drawing.empty()) answered.drawing += "\n";
      answered.drawing += ToString(DrawPod(file, pod, answer, look), look.colour);
      answered.all_run = answered.all_run && answer.runs();
      answered.pods.push_back({file.file_name(), &pod, std::move(answer)});
    }
  }
  return answered;
}

}  // namespace

int RunExplain(const base::Invocation& invocation) {
  const base::Result<CommandOptions> options = ReadCommandOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  const base::Result<std::vector<ManifestFile>> files =
      ReadManifests(invocation.GetAll("filename"));
  if (!files.ok()) {
    ReportError(files.error());
    return kExitInvalidInput;
  }
  const base::Result<ExplainView> view = ViewNode(invocation, *options);
  if (!view.ok()) {
    const int status = ReportError(view.error());
    return status == kExitNoDriver ? status : kExitInvalidInput;
  }
  for (const std::string& warning : view->warnings) Warn(warning);
  const Answered answered = AnswerAll(*files, view->node, options->look);
  PrintAs(options->format,
          service::explain::ExplainDocument(view->source, answered.pods, view->warnings),
          answered.drawing);
  return answered.all_run ? kExitDone : kExitNotApplied;
}

base::Command ExplainCommand() {
  std::vector<std::string> models = config::KnownNodeNames();
  for (std::string& product : config::ProductNames()) models.push_back(std::move(product));
  base::Command command = {
      .name = "explain",
      .summary = "Say what a pod would get on this node, or why not",
      .description =
          "Reads manifests (Pods, and the templates of Deployments, StatefulSets, DaemonSets, "
          "ReplicaSets, Jobs and CronJobs) and says of each pod what it would get here now: "
          "devices, CDI names, variables, mounts, what it shares with whom. Or why it would not "
          "run, with the line of the manifest, and what would have to change. Pods are answered "
          "in their order, each as if those before it ran. Only devices, labels and the taint of "
          "partita's count, not processors and memory, taints of others or other nodes.\n\n"
          "Where partita agent runs, it is asked what it offers and who holds what. Without one "
          "the command looks itself, as if nobody held anything. With --model it needs neither "
          "GPU nor cluster.\n\n"
          "The exit status is 0 when all would run, 3 when some would not, 2 when a file cannot "
          "be read, 6 without a driver.",
      .options = {{.name = "filename",
                   .letter = 'f',
                   .value_name = "FILE",
                   .help = "a manifest, - for standard input",
                   .repeatable = true,
                   .required = true},
                  {.name = "model",
                   .letter = 'm',
                   .value_name = "MODEL",
                   .help = "instead of this machine: a product, several (\"H200 x8\"), each with a "
                           "MIG layout (\"H200 x8 = 1g.18gb:7\"), or a known machine",
                   .suggestions = std::move(models),
                   .repeatable = true},
                  {.name = "mig",
                   .value_name = "LAYOUT",
                   .help = "with --model: the MIG devices of every GPU, 1g.5gb:2,3g.20gb, or as "
                           "many as fit, all-1g.5gb"},
                  {.name = "config",
                   .value_name = "FILE",
                   .help = "as if this were the device plugin's configuration (version: v1)"}},
      .examples = {{"partita explain -f pod.yaml", "what would it get here, now?"},
                   {"kubectl get pod train -o yaml | partita explain -f -",
                    "why does it not start?"},
                   {"partita explain -f pod.yaml --model dgx-a100-40 --config sharing.yaml",
                    "with these settings, on a machine that is not there"},
                   {"partita explain -f pod.yaml -m \"A100-SXM4-40GB x4\" -m \"A100-SXM4-40GB x4 = "
                    "3g.20gb,2g.10gb,1g.5gb:2\"",
                    "four whole GPUs and four divided ones"},
                   {"partita explain -f pod.yaml -o json", "for programs: partita.dev/explain/v1"}},
      .run = RunExplain};
  for (base::Option& option : SettingOptions()) {
    if (option.name != "config-file") continue;
    option.letter = 0;  // kubectl's users mean manifests by it
    command.options.push_back(std::move(option));
  }
  return command;
}

}  // namespace partita::cli
