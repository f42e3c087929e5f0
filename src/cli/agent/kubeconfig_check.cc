#include "cli/agent/kubeconfig_check.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "config/document.h"
#include "config/problems.h"
#include "kube/access.h"

namespace partita::cli {
namespace {

constexpr const char* kKubeconfigHint =
    "name one that is there, or take the key out: then $KUBECONFIG counts, or the pod's account";

// With the line and a caret where a file said it; a flag or variable has no line.
base::Error Unreadable(const config::Setting& setting,
                       const config::AgentConfigSource& source,
                       const base::Error& why) {
  const std::string text = fmt::format("node.kubeconfig cannot be read: {}", why.ToString());
  if (setting.origin.kind == config::OriginKind::kFile) {
    const base::Result<config::Document> document = config::Document::Load(source.path);
    const config::Node* section = document.ok() ? document->root().Find("node") : nullptr;
    const config::Node* value = section != nullptr ? section->Find("kubeconfig") : nullptr;
    if (value != nullptr) {
      config::Problems problems(*document);
      problems.Add(*value, text, kKubeconfigHint);
      return problems.ToResult().error();
    }
  }
  return base::Error(base::ErrorCode::kInvalid, text)
      .Within(setting.origin.where)
      .WithHint(kKubeconfigHint);
}

}  // namespace

base::Result<void> CheckKubeconfig(const config::AgentConfig& config,
                                   const config::AgentConfigSource& source) {
  const config::Setting& setting = config.kubeconfig;
  if (setting.value.empty()) return {};
  base::Result<std::string> text = base::ReadRegularFile(setting.value);
  if (!text.ok()) return Unreadable(setting, source, text.error());
  TRY(access, kube::ReadKubeconfig(*std::move(text), setting.value), "{}: node.kubeconfig",
      setting.origin.where);
  static_cast<void>(access);
  return {};
}

}  // namespace partita::cli
