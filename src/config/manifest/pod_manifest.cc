#include "config/manifest/pod_manifest.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"
#include "config/manifest/pod_spec.h"
#include "config/manifest/quantity.h"
#include "config/problems.h"

namespace partita::config {
namespace {

// What makes Pods, where its template is, and what says how many.
struct TemplateKind {
  std::string_view kind;
  std::string_view group;  // of apiVersion
  std::vector<std::string_view> path;
  std::string_view replicas;  // below "spec"; empty: nothing says, or it is one for each node
};

const std::vector<TemplateKind>& TemplateKinds() {
  static const std::vector<TemplateKind> kinds = {
      {"Pod", "", {"spec"}, ""},
      {"PodTemplate", "", {"template", "spec"}, ""},
      {"ReplicationController", "", {"spec", "template", "spec"}, "replicas"},
      {"Deployment", "apps", {"spec", "template", "spec"}, "replicas"},
      {"ReplicaSet", "apps", {"spec", "template", "spec"}, "replicas"},
      {"StatefulSet", "apps", {"spec", "template", "spec"}, "replicas"},
      {"DaemonSet", "apps", {"spec", "template", "spec"}, ""},
      {"Job", "batch", {"spec", "template", "spec"}, "parallelism"},
      {"CronJob", "batch", {"spec", "jobTemplate", "spec", "template", "spec"}, ""},
  };
  return kinds;
}

// "apps" of "apps/v1", "" of "v1".
std::string_view GroupOf(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : api_version.substr(0, slash);
}

// A text that is there and is one; nothing is a problem.
std::string TextOf(const Node& map, std::string_view key) {
  const Node* node = map.Find(key);
  return node != nullptr && node->IsScalar() ? node->text : "";
}

class ObjectReader {
 public:
  ObjectReader(Problems& problems, std::vector<PodManifest>& pods, std::vector<OtherObject>& others)
      : problems_(problems), pods_(pods), others_(others) {}

  void Read(const Node& object) {
    if (!ExpectMap(object, problems_, "a Kubernetes object")) return;
    const Node* kind = Require(object, "kind", problems_);
    const Node* api = Require(object, "apiVersion", problems_);
    if (kind == nullptr || api == nullptr) return;
    if (!ReadString(*kind, problems_) || !ReadString(*api, problems_)) return;
    if (kind->text == "List" || kind->text == "PodList") return ReadItems(object);
    for (const TemplateKind& row : TemplateKinds())
      if (row.kind == kind->text && row.group == GroupOf(api->text)) return ReadPod(object, row);
    const Node* metadata = object.Find("metadata");
    others_.push_back(
        {kind->text, metadata != nullptr ? TextOf(*metadata, "name") : "", kind->line});
  }

 private:
  void ReadItems(const Node& list) {
    const Node* items = Require(list, "items", problems_);
    if (items == nullptr || !ExpectList(*items, problems_, "the items of a List")) return;
    // kubectl takes a List within a List; so far down nobody writes one.
    for (const Node& item : items->items) {
      const Node* kind = item.Find("kind");
      if (kind != nullptr && kind->text == "List")
        problems_.Add(*kind, "a List within a List", "put its items into the outer one");
      else
        Read(item);
    }
  }

  void ReadPod(const Node& object, const TemplateKind& row) {
    PodManifest pod;
    pod.kind = row.kind;
    pod.place = PositionOf(*object.FindKey("kind"));
    if (const Node* metadata = object.Find("metadata"); metadata != nullptr && metadata->IsMap()) {
      pod.name = TextOf(*metadata, "name");
      if (pod.name.empty()) pod.name = TextOf(*metadata, "generateName");
      pod.pod_namespace = TextOf(*metadata, "namespace");
    }
    if (pod.name.empty())
      pod.flaws.push_back({pod.place, "it has no name", "give it one as metadata.name"});
    const Node* spec = &object;
    for (const std::string_view key : row.path) {
      const Node* below = Require(*spec, key, problems_);
      if (below == nullptr || !ExpectMap(*below, problems_, key)) return;
      spec = below;
    }
    if (!row.replicas.empty()) ReadReplicas(*object.Find("spec"), row.replicas, pod);
    ReadPodSpec(*spec, problems_, pod);
    pods_.push_back(std::move(pod));
  }

  void ReadReplicas(const Node& spec, std::string_view key, PodManifest& pod) {
    const Node* count = spec.Find(key);
    if (count == nullptr || count->IsNull()) return;
    pod.replicas = ReadUnsigned(*count, problems_).value_or(1);
  }

  Problems& problems_;
  std::vector<PodManifest>& pods_;
  std::vector<OtherObject>& others_;
};

}  // namespace

std::string_view ToString(ContainerRole role) {
  switch (role) {
    case ContainerRole::kInit: return "init container";
    case ContainerRole::kSidecar: return "sidecar";
    case ContainerRole::kMain: return "container";
  }
  return "container";
}

base::Result<ManifestFile> ManifestFile::Parse(std::string text, std::string file_name) {
  TRY(stream, DocumentStream::Parse(std::move(text), std::move(file_name)));
  ManifestFile file(std::move(stream));
  Problems problems(file.stream_.text, file.stream_.file_name);
  ObjectReader reader(problems, file.pods_, file.others_);
  for (const Node& root : file.stream_.roots) reader.Read(root);
  TRY_VOID(problems.ToResult());
  if (!file.pods_.empty()) return file;
  std::vector<std::string> kinds;
  for (const OtherObject& other : file.others_) kinds.push_back(base::Quoted(other.kind));
  return base::MakeError(base::ErrorCode::kInvalid, "{}: {}", file.file_name(),
                         kinds.empty() ? "there is nothing in it"
                                       : fmt::format("no Pod comes of {}", base::Join(kinds, ", ")))
      .WithHint("give a Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, Job or CronJob");
}

std::string ManifestFile::Snippet(const Node& place) const {
  return base::Snippet(stream_.text, place.line, place.column, place.length, "");
}

std::string ManifestFile::Show(const Node& place,
                               const std::string& message,
                               const std::string& hint) const {
  Problems problems(stream_.text, stream_.file_name);
  problems.Add(place, message, hint);
  return problems.RenderEach().front();
}

}  // namespace partita::config
