// The members of each object of a specification, in the order in which they are written. What reads
// and what writes goes through the same lists, as `fields`:
//   Must    has to be there
//   Always  is written also when it is empty
//   May     is left out when it is empty, zero or absent
// A part that is an object, or a list of them, has its name behind it, for messages.
#pragma once

#include <concepts>
#include <type_traits>

#include "cdi/spec.h"

namespace partita::cdi {

template <typename T, typename Object>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Object>;

template <typename Fields>
void Describe(Fields& fields, MaybeConst<DeviceNode> auto& node) {
  fields.Must("path", node.path)
      .May("hostPath", node.host_path)
      .May("type", node.type)
      .May("major", node.major)
      .May("minor", node.minor)
      .May("fileMode", node.file_mode)
      .May("permissions", node.permissions)
      .May("uid", node.uid)
      .May("gid", node.gid);
}

template <typename Fields>
void Describe(Fields& fields, MaybeConst<NetDevice> auto& device) {
  fields.Must("hostInterfaceName", device.host_interface_name).Must("name", device.name);
}

template <typename Fields>
void Describe(Fields& fields, MaybeConst<Hook> auto& hook) {
  fields.Must("hookName", hook.hook_name)
      .Must("path", hook.path)
      .May("args", hook.args)
      .May("env", hook.env)
      .May("timeout", hook.timeout);
}

template <typename Fields>
void Describe(Fields& fields, MaybeConst<Mount> auto& mount) {
  fields.Must("hostPath", mount.host_path)
      .Must("containerPath", mount.container_path)
      .May("options", mount.options)
      .May("type", mount.type);
}

template <typename Fields>
void Describe(Fields& fields, MaybeConst<IntelRdt> auto& rdt) {
  fields.May("closID", rdt.clos_id)
      .May("l3CacheSchema", rdt.l3_cache_schema)
      .May("memBwSchema", rdt.mem_bw_schema)
      .May("schemata", rdt.schemata)
      .May("enableMonitoring", rdt.enable_monitoring);
}

template <typename Fields>
void Describe(Fields& fields, MaybeConst<ContainerEdits> auto& edits) {
  fields.May("env", edits.env)
      .May("deviceNodes", edits.device_nodes, "a device node")
      .May("netDevices", edits.net_devices, "a net device")
      .May("hooks", edits.hooks, "a hook")
      .May("mounts", edits.mounts, "a mount")
      .May("intelRdt", edits.intel_rdt, "intelRdt")
      .May("additionalGids", edits.additional_gids);
}

template <typename Fields>
void Describe(Fields& fields, MaybeConst<Device> auto& device) {
  fields.Must("name", device.name)
      .May("annotations", device.annotations)
      .Always("containerEdits", device.edits, "containerEdits");
}

template <typename Fields>
void Describe(Fields& fields, MaybeConst<Spec> auto& spec) {
  fields.Must("cdiVersion", spec.version)
      .Must("kind", spec.kind)
      .May("annotations", spec.annotations)
      .Always("devices", spec.devices, "a device")
      .May("containerEdits", spec.edits, "containerEdits");
}

}  // namespace partita::cdi
