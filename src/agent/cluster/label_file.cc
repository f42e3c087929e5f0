#include <unistd.h>

#include <cerrno>
#include <utility>

#include "agent/cluster/label_output.h"
#include "base/files.h"
#include "base/root_dir.h"
#include "service/labels/outputs.h"

namespace partita::agent {
namespace {

using service::labels::Rendering;

// Writes on the loop: a few hundred bytes, as often as a node's GPUs change.
class LabelFile final : public LabelOutput {
 public:
  LabelFile(LabelOutputParts parts, std::string path, std::string root)
      : parts_(std::move(parts)),
        path_(std::move(path)),
        root_(std::move(root)),
        failure_(parts_.log, "the file of labels is not written: it is tried again"),
        writing_(parts_.cluster.loop(),
                 "label-file-again",
                 parts_.random,
                 [this](const kube::Retrying::Done& done) { done(Write()); }) {}
  LabelFile(const LabelFile&) = delete;
  LabelFile& operator=(const LabelFile&) = delete;
  ~LabelFile() override = default;

  void Set(std::optional<Rendering> wanted) override {
    wanted_ = std::move(wanted);
    writing_.Start();
  }
  void Refresh() override { writing_.Start(); }

 private:
  base::Result<void> Write() {
    base::Result<void> written = wanted_ ? WriteFile() : Remove();
    if (!written.ok()) {
      failure_.Failed(written.error());
      parts_.events.problem(written.error().ToString());
      return written;
    }
    failure_.Succeeded();
    parts_.events.problem("");
    if (!wanted_) parts_.events.removed();
    return {};
  }

  base::Result<void> WriteFile() {
    const std::string text = service::labels::ToFeatureFile(wanted_->labels);
    const base::Result<std::string> there = base::ReadFile(path_);
    if (there.ok() && *there == text) return {};
    return base::WriteFileAtomically(path_, text, 0644, base::Heritage::kNothing);
  }

  base::Result<void> Remove() {
    if (unlink(path_.c_str()) == 0) return {};
    if (errno != ENOENT && errno != ENOTDIR) return base::ErrnoError("remove " + path_);
    // A chart that says another backend mounts the folder no more.
    const base::Result<base::RootDir> host = base::RootDir::Open(root_);
    if (!host.ok() || !host->Look(path_).ok()) return {};
    return base::MakeError(base::ErrorCode::kUnavailable,
                           "remove {}: the host has it, and its folder is not mounted here any "
                           "more",
                           path_)
        .WithHint("remove it on the host: Node Feature Discovery makes labels of it until then");
  }

  LabelOutputParts parts_;
  std::string path_, root_;
  base::RepeatedFailure failure_;
  std::optional<Rendering> wanted_;
  kube::Retrying writing_;
};

}  // namespace

std::unique_ptr<LabelOutput> NewLabelFile(LabelOutputParts parts,
                                          const std::string& path,
                                          const std::string& root) {
  return std::make_unique<LabelFile>(std::move(parts), path, root);
}

}  // namespace partita::agent
