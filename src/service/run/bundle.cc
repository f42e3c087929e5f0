#include "service/run/bundle.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/json.h"
#include "base/text.h"
#include "base/value.h"
#include "oci/spec.h"
#include "service/run/image.h"

namespace partita::service::run {

namespace {

using base::Result;
using base::Value;

// As docker gives them, less CAP_MKNOD and CAP_NET_RAW.
constexpr const char* kCapabilities[] = {"CAP_AUDIT_WRITE",      "CAP_CHOWN",   "CAP_DAC_OVERRIDE",
                                         "CAP_FOWNER",           "CAP_FSETID",  "CAP_KILL",
                                         "CAP_NET_BIND_SERVICE", "CAP_SETFCAP", "CAP_SETGID",
                                         "CAP_SETPCAP",          "CAP_SETUID",  "CAP_SYS_CHROOT"};

// What tells or changes this machine beyond the container, as runc's own example has it.
constexpr const char* kMasked[] = {"/proc/acpi",        "/proc/asound",        "/proc/kcore",
                                   "/proc/keys",        "/proc/latency_stats", "/proc/timer_list",
                                   "/proc/timer_stats", "/proc/sched_debug",   "/sys/firmware",
                                   "/proc/scsi"};
constexpr const char* kReadOnly[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                     "/proc/sysrq-trigger"};
// The network is this machine's.
constexpr const char* kNamespaces[] = {"pid", "ipc", "uts", "mount"};

struct Mount {
  const char* destination;
  const char* type;
  std::vector<std::string> options;
};

std::vector<Mount> Mounts() {
  return {{"/proc", "proc", {}},
          {"/dev", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}},
          {"/dev/pts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
          {"/dev/shm", "tmpfs", {"nosuid", "noexec", "nodev", "mode=1777"}},
          {"/dev/mqueue", "mqueue", {"nosuid", "noexec", "nodev"}},
          {"/sys", "sysfs", {"nosuid", "noexec", "nodev", "ro"}}};
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const base::Character character = base::DecodeCharacter(text);
    if (character.code == base::kBroken) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

template <typename Words>
Value ListOf(const Words& words) {
  Value list = Value::List();
  for (const auto& word : words) list.Add(std::string(word));
  return list;
}

Value MountValue(const std::string& destination,
                 const std::string& type,
                 const std::string& source,
                 const std::vector<std::string>& options) {
  Value value =
      Value::Map().Set("destination", destination).Set("type", type).Set("source", source);
  if (!options.empty()) value.Set("options", ListOf(options));
  return value;
}

Value MountsValue(const ContainerOrder& order) {
  Value mounts = Value::List();
  for (const Mount& mount : Mounts())
    mounts.Add(MountValue(mount.destination, mount.type, mount.type, mount.options));
  for (const std::string& file : order.host_files)
    mounts.Add(MountValue(file, "bind", file, {"bind", "ro", "nosuid", "noexec", "nodev"}));
  return mounts;
}

Value ProcessValue(const ContainerOrder& order) {
  Value env = Value::List();
  env.Add(std::string("PATH=") + kImagePath).Add("HOME=/root");
  if (!order.term.empty() && IsUtf8(order.term)) env.Add("TERM=" + order.term);
  Value capabilities = Value::Map();
  for (const char* set : {"bounding", "effective", "permitted"})
    capabilities.Set(set, ListOf(kCapabilities));
  return Value::Map()
      .Set("terminal", order.terminal)
      .Set("user", Value::Map().Set("uid", 0).Set("gid", 0))
      .Set("args", ListOf(order.command))
      .Set("env", std::move(env))
      .Set("cwd", "/")
      .Set("capabilities", std::move(capabilities));
}

Value LinuxValue() {
  Value namespaces = Value::List();
  for (const char* type : kNamespaces) namespaces.Add(Value::Map().Set("type", type));
  Value nothing = Value::Map().Set("allow", false).Set("access", "rwm");
  return Value::Map()
      .Set("resources", Value::Map().Set("devices", Value::List().Add(std::move(nothing))))
      .Set("namespaces", std::move(namespaces))
      .Set("maskedPaths", ListOf(kMasked))
      .Set("readonlyPaths", ListOf(kReadOnly));
}

Value HookValue(const partita::cdi::Hook& hook) {
  return Value::Map()
      .Set("path", hook.path)
      .Set("args", ListOf(hook.args))
      .Set("env", ListOf(hook.env));
}

}  // namespace

Result<void> CheckWords(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (IsUtf8(command[i])) continue;
    const std::string which =
        i == 0 ? "the name of the command" : fmt::format("argument {} of the command", i);
    return base::MakeError(base::ErrorCode::kInvalid, "{} is not UTF-8: {}", which,
                           base::Quoted(command[i]))
        .WithHint(
            "runc takes words as JSON, which would change it: write it into a script in the image, "
            "or run without --image");
  }
  return {};
}

Result<std::string> MakeConfig(const ContainerOrder& order,
                               const Grant& grant,
                               const partita::cdi::NodeDevices& node,
                               const cdi::HookSet& hooks,
                               const partita::cdi::LookAtHost& look) {
  const Value config = Value::Map()
                           .Set("ociVersion", "1.0.2")
                           .Set("process", ProcessValue(order))
                           .Set("root", Value::Map().Set("path", order.root))
                           .Set("hostname", "partita")
                           .Set("mounts", MountsValue(order))
                           .Set("linux", LinuxValue());
  TRY(spec, oci::Spec::Parse(base::ToJson(config)));
  const partita::cdi::Device nothing;
  std::vector<partita::cdi::Registry::Found> found;
  for (const partita::cdi::Device& device : node.spec.devices) {
    if (std::find(grant.devices.begin(), grant.devices.end(), device.name) != grant.devices.end())
      found.push_back({&node.spec, &device});
  }
  // Without any device the driver's files are there all the same.
  if (found.empty()) found.push_back({&node.spec, &nothing});
  TRY_VOID(partita::cdi::Inject(spec, found, partita::cdi::Order::kDeviceFirst, look));
  if (const auto hook = hooks.Make("restrict-proc", {}))
    spec.AddHook("createContainer", HookValue(*hook));
  return spec.Text();
}

}  // namespace partita::service::run
