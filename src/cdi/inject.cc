#include "cdi/inject.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::cdi {
namespace {

using base::Value;

// All edits in their order. The common ones of a specification come once.
ContainerEdits Merge(std::span<const Registry::Found> devices, Order order) {
  ContainerEdits edits, common;
  std::set<const Spec*> seen;
  for (const Registry::Found& found : devices) {
    if (seen.insert(found.spec).second)
      (order == Order::kCommonFirst ? edits : common).Append(found.spec->edits);
    edits.Append(found.device->edits);
  }
  edits.Append(common);
  return edits;
}

std::string TypeOf(const base::FileFacts& facts) {
  if (S_ISBLK(facts.mode)) return "b";
  if (S_ISCHR(facts.mode)) return "c";
  if (S_ISFIFO(facts.mode)) return "p";
  return "";
}

base::Error NoHostDevice(const std::string& path, std::string_view why) {
  return base::MakeError(base::ErrorCode::kNotFound, "failed to stat CDI host device {}: {}",
                         base::Quoted(path), why)
      .WithHint("the specification is older than the node; partita cdi generate makes a new one");
}

// With what the host's node tells. One that is described by itself may be absent there: its type
// and number suffice.
base::Result<DeviceNode> Completed(DeviceNode node, const LookAtHost& look) {
  const bool described = !node.type.empty() && (node.major != 0 || node.type == "p");
  const std::string path = node.host_path.empty() ? node.path : node.host_path;
  if (path.find('\0') != std::string::npos) return NoHostDevice(path, "a NUL byte is in its path");
  const base::Result<base::FileFacts> facts = look(path);
  const std::string type = facts.ok() ? TypeOf(*facts) : "";
  if (described && type.empty()) return node;
  if (!facts.ok()) return NoHostDevice(path, facts.error().ToString());
  if (type.empty()) return NoHostDevice(path, "not a device node");
  if (!node.file_mode) node.file_mode = facts->mode & 07777;
  if (described) return node;
  if (node.type.empty()) node.type = type;
  if (node.type != type && !(node.type == "u" && type == "c")) {
    return base::MakeError(base::ErrorCode::kConflict,
                           "CDI device {}: the specification says {}, the host's {} is {}",
                           node.path, node.type, path, type);
  }
  if (node.major == 0 && node.type != "p") {
    node.major = major(facts->device);
    node.minor = minor(facts->device);
  }
  return node;
}

Value DeviceValue(const DeviceNode& node, const oci::Spec& spec) {
  Value device = Value::Map()
                     .Set("path", node.path)
                     .Set("type", node.type)
                     .Set("major", node.major)
                     .Set("minor", node.minor);
  if (node.file_mode) device.Set("fileMode", *node.file_mode);
  // A process that is not root could not open a node of root's with mode 0600.
  const std::uint32_t uid = node.uid.value_or(spec.uid()), gid = node.gid.value_or(spec.gid());
  if (node.uid || uid != 0) device.Set("uid", uid);
  if (node.gid || gid != 0) device.Set("gid", gid);
  return device;
}

base::Result<void> InjectNodes(oci::Spec& spec,
                               const std::vector<DeviceNode>& nodes,
                               const LookAtHost& look) {
  for (const DeviceNode& each : nodes) {
    TRY(node, Completed(each, look));
    spec.PutDevice(DeviceValue(node, spec));
    if (node.type != "b" && node.type != "c") continue;
    const std::string access = node.permissions.empty() ? "rwm" : node.permissions;
    spec.AllowDevice(node.type[0], node.major, node.minor, access == "none" ? "" : access);
  }
  return {};
}

// Without "//", "/." and what ".." takes back.
std::string Cleaned(std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string_view part : base::Split(path, '/')) {
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.emplace_back(part);
    }
  }
  return '/' + base::Join(parts, "/");
}

std::string DestinationOf(const oci::Element& mount) {
  const Value* destination = mount.value.Find("destination");
  const bool named = destination != nullptr && destination->kind() == Value::Kind::kString;
  return Cleaned(named ? destination->AsString() : "");
}

std::ptrdiff_t DepthOf(const oci::Element& mount) {
  const std::string destination = DestinationOf(mount);
  return std::count(destination.begin(), destination.end(), '/');
}

// What makes the owner of bound files the container's in a user namespace; "" where it is said
// already, or nothing is bound.
std::string IdMapping(const Mount& mount) {
  std::string option = mount.type == "bind" ? "idmap" : "";
  for (const std::string& each : mount.options) {
    if (each == "idmap" || each == "ridmap") return "";
    if (each == "bind") option = "idmap";
    if (each == "rbind") option = "ridmap";
  }
  return option;
}

Value MountValue(const Mount& mount, bool user_namespace) {
  Value value = Value::Map().Set("destination", mount.container_path);
  if (!mount.type.empty()) value.Set("type", mount.type);
  value.Set("source", mount.host_path);
  std::vector<std::string> all = mount.options;
  if (const std::string mapping = user_namespace ? IdMapping(mount) : ""; !mapping.empty())
    all.push_back(mapping);
  Value options = Value::List();
  for (const std::string& option : all) options.Add(option);
  if (!all.empty()) value.Set("options", std::move(options));
  return value;
}

bool IsBound(const Mount& mount) {
  return mount.type == "bind" ||
         std::any_of(mount.options.begin(), mount.options.end(), [](const std::string& option) {
           return option == "bind" || option == "rbind";
         });
}

base::Result<void> InjectMounts(oci::Spec& spec, const std::vector<Mount>& mounts) {
  if (mounts.empty()) return {};
  std::vector<oci::Element> all = spec.mounts();
  for (const Mount& mount : mounts) {
    // Runtimes count it from the bundle, where the image is.
    if (IsBound(mount) && !mount.host_path.starts_with('/'))
      return base::MakeError(base::ErrorCode::kInvalid,
                             "the hostPath {} of a mount is not absolute",
                             base::Quoted(mount.host_path));
    const std::string destination = Cleaned(mount.container_path);
    all.erase(std::remove_if(
                  all.begin(), all.end(),
                  [&](const oci::Element& each) { return DestinationOf(each) == destination; }),
              all.end());
    all.push_back({"", MountValue(mount, spec.has_user_namespace())});
  }
  // A mount over a folder hides those below it that came before.
  std::stable_sort(all.begin(), all.end(), [](const oci::Element& a, const oci::Element& b) {
    return DepthOf(a) < DepthOf(b);
  });
  spec.SetMounts(std::move(all));
  return {};
}

Value TextList(const std::vector<std::string>& texts) {
  Value list = Value::List();
  for (const std::string& text : texts) list.Add(text);
  return list;
}

// Of a hook that has none: runtimes would give it the image's, LD_PRELOAD too (CVE-2025-23266).
std::vector<std::string> OwnEnvironment() {
  return {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
}

base::Result<void> InjectHooks(oci::Spec& spec, const std::vector<Hook>& hooks) {
  for (const Hook& hook : hooks) {
    if (!oci::Spec::IsHookList(hook.hook_name)) {
      return base::MakeError(base::ErrorCode::kInvalid, "no hook is called {}",
                             base::Quoted(hook.hook_name));
    }
    // Runtimes start hooks in the container's root.
    if (!hook.path.starts_with('/'))
      return base::MakeError(base::ErrorCode::kInvalid, "the path {} of a {} hook is not absolute",
                             base::Quoted(hook.path), hook.hook_name);
    Value value = Value::Map().Set("path", hook.path);
    if (!hook.args.empty()) value.Set("args", TextList(hook.args));
    value.Set("env", TextList(hook.env.empty() ? OwnEnvironment() : hook.env));
    if (hook.timeout) value.Set("timeout", *hook.timeout);
    spec.AddHook(hook.hook_name, value);
  }
  return {};
}

Value RdtValue(const IntelRdt& rdt) {
  Value value = Value::Map();
  if (!rdt.clos_id.empty()) value.Set("closID", rdt.clos_id);
  if (!rdt.l3_cache_schema.empty()) value.Set("l3CacheSchema", rdt.l3_cache_schema);
  if (!rdt.mem_bw_schema.empty()) value.Set("memBwSchema", rdt.mem_bw_schema);
  if (!rdt.schemata.empty()) value.Set("schemata", TextList(rdt.schemata));
  if (rdt.enable_monitoring) value.Set("enableMonitoring", true);
  return value;
}

}  // namespace

base::Result<void> Inject(oci::Spec& spec,
                          std::span<const Registry::Found> devices,
                          Order order,
                          const LookAtHost& look) {
  const ContainerEdits edits = Merge(devices, order);
  oci::Spec changed = spec;
  for (const std::string& entry : edits.env) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const std::string_view text = entry;
    changed.SetEnv(text.substr(0, equals), text.substr(equals + 1));
  }
  TRY_VOID(InjectNodes(changed, edits.device_nodes, look));
  for (const NetDevice& device : edits.net_devices)
    changed.SetNetDevice(device.host_interface_name, Value::Map().Set("name", device.name));
  TRY_VOID(InjectMounts(changed, edits.mounts));
  TRY_VOID(InjectHooks(changed, edits.hooks));
  if (edits.intel_rdt) changed.SetIntelRdt(RdtValue(*edits.intel_rdt));
  for (const std::uint32_t gid : edits.additional_gids) changed.AddGid(gid);
  spec = std::move(changed);
  return {};
}

}  // namespace partita::cdi
