// A CDI specification as values. Members stand in the order in which they are written; what is
// empty, zero or absent is not written at all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace partita::cdi {

struct DeviceNode {
  std::string path{};
  std::string host_path{};  // empty: the same as `path`
  std::string type{};       // "b", "c", "u", "p"; empty: as the host's node
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::optional<std::uint32_t> file_mode{};  // permission bits alone
  std::string permissions{};                 // of "rwm"; empty: all of them; "none": none
  std::optional<std::uint32_t> uid{};
  std::optional<std::uint32_t> gid{};
  bool operator==(const DeviceNode&) const = default;
};

struct Mount {
  std::string host_path{};
  std::string container_path{};
  std::vector<std::string> options{};
  std::string type{};
  bool operator==(const Mount&) const = default;
};

struct Hook {
  std::string hook_name{};
  std::string path{};
  std::vector<std::string> args{};  // with args[0]
  std::vector<std::string> env{};
  std::optional<std::int64_t> timeout{};  // seconds
  bool operator==(const Hook&) const = default;
};

struct NetDevice {
  std::string host_interface_name{};
  std::string name{};
  bool operator==(const NetDevice&) const = default;
};

struct IntelRdt {
  std::string clos_id{};
  std::string l3_cache_schema{};
  std::string mem_bw_schema{};
  std::vector<std::string> schemata{};
  bool enable_monitoring = false;
  bool operator==(const IntelRdt&) const = default;
};

struct ContainerEdits {
  std::vector<std::string> env{};
  std::vector<DeviceNode> device_nodes{};
  std::vector<NetDevice> net_devices{};
  std::vector<Hook> hooks{};
  std::vector<Mount> mounts{};
  std::optional<IntelRdt> intel_rdt{};
  std::vector<std::uint32_t> additional_gids{};

  [[nodiscard]] bool empty() const;
  // Behind what is there; the other's intelRdt replaces this one's.
  void Append(const ContainerEdits& other);
  bool operator==(const ContainerEdits&) const = default;
};

using Annotations = std::map<std::string, std::string>;

struct Device {
  std::string name{};
  Annotations annotations{};
  ContainerEdits edits{};
  bool operator==(const Device&) const = default;
};

struct Spec {
  std::string version{};
  std::string kind{};  // "nvidia.com/gpu"
  Annotations annotations{};
  std::vector<Device> devices{};
  ContainerEdits edits{};  // for every container that gets one of the devices
  bool operator==(const Spec&) const = default;
};

}  // namespace partita::cdi
