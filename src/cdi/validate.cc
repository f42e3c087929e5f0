#include "cdi/validate.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "cdi/name.h"
#include "cdi/version.h"

namespace partita::cdi {
namespace {

using base::Quoted;

constexpr std::size_t kMostShown = 20;
constexpr std::size_t kMostAnnotationBytes = std::size_t{256} << 10;

constexpr std::array<std::string_view, 6> kHookNames = {
    "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};

// All that is wrong, each with the place that it is at.
class Findings {
 public:
  template <typename... Args>
  void Add(fmt::format_string<Args...> text, Args&&... args) {
    found_.push_back(where_ + fmt::format(text, std::forward<Args>(args)...));
  }
  // What follows is there: "device \"0\"".
  void Enter(const std::string& where) { where_ = where.empty() ? "" : where + ": "; }

  [[nodiscard]] base::Result<void> ToResult() const {
    if (found_.empty()) return {};
    if (found_.size() == 1) return base::Error(base::ErrorCode::kInvalid, found_.front());
    std::string message = fmt::format("{} problems:", found_.size());
    for (std::size_t i = 0; i < std::min(found_.size(), kMostShown); ++i)
      message += "\n  " + found_[i];
    if (found_.size() > kMostShown)
      message += fmt::format("\n  and {} more", found_.size() - kMostShown);
    return base::Error(base::ErrorCode::kInvalid, message);
  }

 private:
  std::string where_;
  std::vector<std::string> found_;
};

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// A NUL ends the text for the kernel: what would be used is not what was checked.
void CheckText(std::string_view what, const std::string& text, Findings& findings) {
  if (HasNul(text)) findings.Add("{} {} has a NUL byte in it", what, Quoted(text));
}

void CheckPath(std::string_view what, const std::string& path, Findings& findings) {
  if (path.empty()) findings.Add("{} is empty", what);
  CheckText(what, path, findings);
}

void CheckEnv(std::string_view what, const std::vector<std::string>& env, Findings& findings) {
  for (const std::string& entry : env) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      findings.Add("{} {} is not NAME=VALUE", what, Quoted(entry));
    CheckText(what, entry, findings);
  }
}

void CheckNode(const DeviceNode& node, Findings& findings) {
  CheckPath("the path of a device node", node.path, findings);
  CheckText("hostPath", node.host_path, findings);
  if (node.type.size() > 1 || std::string_view("bcup").find(node.type) == std::string_view::npos)
    findings.Add("device node {}: type {} is not b, c, u or p", node.path, Quoted(node.type));
  const bool known =
      node.permissions == "none" || node.permissions.find_first_not_of("rwm") == std::string::npos;
  if (!known) {
    findings.Add("device node {}: permissions {} are not of r, w and m, nor \"none\"", node.path,
                 Quoted(node.permissions));
  }
}

void CheckHook(const Hook& hook, bool ours, Findings& findings) {
  if (std::find(kHookNames.begin(), kHookNames.end(), hook.hook_name) == kHookNames.end())
    findings.Add("no hook is called {}", Quoted(hook.hook_name));
  const std::string what = fmt::format("a {} hook's", hook.hook_name);
  CheckPath(what + " path", hook.path, findings);
  for (const std::string& argument : hook.args) CheckText(what + " argument", argument, findings);
  CheckEnv(what + " environment", hook.env, findings);
  if (!ours) return;
  if (hook.env.empty()) findings.Add("the {} hook {} has no env", hook.hook_name, hook.path);
  if (!hook.path.empty() && !hook.path.starts_with('/'))
    findings.Add("{} path {} is not absolute", what, Quoted(hook.path));
  if (hook.timeout && *hook.timeout <= 0) findings.Add("{} timeout is not positive", what);
}

void CheckMount(const Mount& mount, Findings& findings) {
  CheckPath("the hostPath of a mount", mount.host_path, findings);
  CheckPath("the containerPath of a mount", mount.container_path, findings);
  for (const std::string& option : mount.options) CheckText("a mount's option", option, findings);
}

// The name of a directory in resctrl; "/" is the root of it.
bool IsClosId(const std::string& id) {
  if (id == "/") return true;
  return id.size() < 4096 && id != "." && id != ".." &&
         id.find_first_of(std::string_view("/\n\0", 3)) == std::string::npos;
}

void CheckNetDevices(const std::vector<NetDevice>& devices, Findings& findings) {
  std::set<std::string> on_host, inside;
  for (const NetDevice& device : devices) {
    CheckPath("hostInterfaceName", device.host_interface_name, findings);
    CheckPath("the name of a net device", device.name, findings);
    if (!on_host.insert(device.host_interface_name).second)
      findings.Add("net device {} is there twice", Quoted(device.host_interface_name));
    if (!inside.insert(device.name).second)
      findings.Add("two net devices are named {}", Quoted(device.name));
  }
}

void CheckEdits(const ContainerEdits& edits, bool ours, Findings& findings) {
  CheckEnv("env", edits.env, findings);
  for (const DeviceNode& node : edits.device_nodes) CheckNode(node, findings);
  for (const Hook& hook : edits.hooks) CheckHook(hook, ours, findings);
  for (const Mount& mount : edits.mounts) CheckMount(mount, findings);
  if (edits.intel_rdt && !IsClosId(edits.intel_rdt->clos_id))
    findings.Add("closID {} is no name of a directory", Quoted(edits.intel_rdt->clos_id));
  CheckNetDevices(edits.net_devices, findings);
}

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsAnnotationWord(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

// "name" or "prefix/name", as Kubernetes has them.
bool IsAnnotationKey(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return IsAnnotationWord(key, 63);
  const std::string_view prefix = key.substr(0, slash);
  return IsAnnotationWord(prefix, 253) && prefix.find('_') == std::string_view::npos &&
         IsAnnotationWord(key.substr(slash + 1), 63);
}

void CheckAnnotations(const Annotations& annotations, Findings& findings) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : annotations) {
    bytes += key.size() + value.size();
    if (!IsAnnotationKey(key))
      findings.Add("annotation {} is no name that Kubernetes knows", Quoted(key));
  }
  if (bytes > kMostAnnotationBytes)
    findings.Add("annotations have {} bytes; {} are the most", bytes, kMostAnnotationBytes);
}

void CheckCdiVersion(const Spec& spec, Findings& findings) {
  const base::Result<Version> version = ParseVersion(spec.version);
  if (!version.ok()) {
    findings.Add("{}", version.error().message());
    return;
  }
  const Feature feature = NewestFeature(spec);
  if (*version < feature.since) {
    findings.Add("cdiVersion {} is too low: {} needs at least {}", spec.version, feature.what,
                 feature.since.ToString());
  }
}

void CheckKind(const std::string& kind, Findings& findings) {
  const auto [vendor, klass] = SplitKind(kind);
  if (vendor.empty()) {
    findings.Add("kind {} is not vendor/class", Quoted(kind));
    return;
  }
  if (!IsVendor(vendor)) findings.Add("kind {}: the vendor is malformed", Quoted(kind));
  if (!IsClass(klass)) findings.Add("kind {}: the class is malformed", Quoted(kind));
}

base::Result<void> CheckAll(const Spec& spec, bool ours) {
  Findings findings;
  CheckCdiVersion(spec, findings);
  CheckKind(spec.kind, findings);
  if (ours) CheckAnnotations(spec.annotations, findings);
  if (spec.devices.empty()) findings.Add("there is no device in it");
  findings.Enter("common edits");
  CheckEdits(spec.edits, ours, findings);
  std::set<std::string_view> names;
  for (const Device& device : spec.devices) {
    findings.Enter("device " + Quoted(device.name));
    if (!IsDeviceName(device.name)) findings.Add("the name is malformed");
    if (!names.insert(device.name).second) findings.Add("it is there twice");
    if (device.edits.empty()) findings.Add("it has no edits");
    if (ours) CheckAnnotations(device.annotations, findings);
    CheckEdits(device.edits, ours, findings);
  }
  return findings.ToResult();
}

}  // namespace

base::Result<void> Check(const Spec& spec) { return CheckAll(spec, false); }

base::Result<void> CheckToWrite(const Spec& spec) { return CheckAll(spec, true); }

}  // namespace partita::cdi
