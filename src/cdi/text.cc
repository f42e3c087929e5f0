#include "cdi/text.h"

#include <utility>

namespace partita::cdi {
namespace {

using base::Value;

// A map that leaves out what is empty or zero.
class Members {
 public:
  Members& Must(std::string key, Value value) {
    map_.Set(std::move(key), std::move(value));
    return *this;
  }
  Members& Text(std::string key, const std::string& text) {
    return text.empty() ? *this : Must(std::move(key), text);
  }
  Members& Number(std::string key, std::int64_t number) {
    if (number == 0) return *this;
    return Must(std::move(key), number);
  }
  template <typename T>
  Members& Given(const std::string& key, const std::optional<T>& number) {
    if (number) Must(key, *number);
    return *this;
  }
  template <typename T>
  Members& Plain(std::string key, const std::vector<T>& items) {
    Value list = Value::List();
    for (const T& item : items) list.Add(item);
    return items.empty() ? *this : Must(std::move(key), std::move(list));
  }
  template <typename T>
  Members& List(std::string key, const std::vector<T>& items, Value (*to_value)(const T&)) {
    Value list = Value::List();
    for (const T& item : items) list.Add(to_value(item));
    return items.empty() ? *this : Must(std::move(key), std::move(list));
  }
  Members& Map(std::string key, const Annotations& annotations) {
    Value map = Value::Map();
    for (const auto& [name, value] : annotations) map.Set(name, value);
    return annotations.empty() ? *this : Must(std::move(key), std::move(map));
  }
  Value Take() { return std::move(map_); }

 private:
  Value map_ = Value::Map();
};

Value NodeValue(const DeviceNode& node) {
  return Members()
      .Must("path", node.path)
      .Text("hostPath", node.host_path)
      .Text("type", node.type)
      .Number("major", node.major)
      .Number("minor", node.minor)
      .Given("fileMode", node.file_mode)
      .Text("permissions", node.permissions)
      .Given("uid", node.uid)
      .Given("gid", node.gid)
      .Take();
}

Value NetDeviceValue(const NetDevice& device) {
  return Members()
      .Must("hostInterfaceName", device.host_interface_name)
      .Must("name", device.name)
      .Take();
}

Value HookValue(const Hook& hook) {
  return Members()
      .Must("hookName", hook.hook_name)
      .Must("path", hook.path)
      .Plain("args", hook.args)
      .Plain("env", hook.env)
      .Given("timeout", hook.timeout)
      .Take();
}

Value MountValue(const Mount& mount) {
  return Members()
      .Must("hostPath", mount.host_path)
      .Must("containerPath", mount.container_path)
      .Plain("options", mount.options)
      .Text("type", mount.type)
      .Take();
}

Value RdtValue(const IntelRdt& rdt) {
  Members members;
  members.Text("closID", rdt.clos_id)
      .Text("l3CacheSchema", rdt.l3_cache_schema)
      .Text("memBwSchema", rdt.mem_bw_schema)
      .Plain("schemata", rdt.schemata);
  if (rdt.enable_monitoring) members.Must("enableMonitoring", true);
  return members.Take();
}

Value EditsValue(const ContainerEdits& edits) {
  Members members;
  members.Plain("env", edits.env)
      .List("deviceNodes", edits.device_nodes, NodeValue)
      .List("netDevices", edits.net_devices, NetDeviceValue)
      .List("hooks", edits.hooks, HookValue)
      .List("mounts", edits.mounts, MountValue);
  if (edits.intel_rdt) members.Must("intelRdt", RdtValue(*edits.intel_rdt));
  return members.Plain("additionalGids", edits.additional_gids).Take();
}

Value DeviceValue(const Device& device) {
  return Members()
      .Must("name", device.name)
      .Map("annotations", device.annotations)
      .Must("containerEdits", EditsValue(device.edits))
      .Take();
}

}  // namespace

Value ToValue(const Spec& spec) {
  Members members;
  members.Must("cdiVersion", spec.version)
      .Must("kind", spec.kind)
      .Map("annotations", spec.annotations);
  Value devices = Value::List();
  for (const Device& device : spec.devices) devices.Add(DeviceValue(device));
  members.Must("devices", std::move(devices));
  if (!spec.edits.empty()) members.Must("containerEdits", EditsValue(spec.edits));
  return members.Take();
}

std::string ToYaml(const Spec& spec) { return "---\n" + base::ToGoYaml(ToValue(spec)); }

std::string ToJson(const Spec& spec) { return base::ToJsonLine(ToValue(spec)); }

}  // namespace partita::cdi
