// kubelet's messages as bytes: its device plugin API v1beta1 and its PodResources API v1. The
// numbers of the fields are those of Kubernetes' own definitions; fields that nobody here knows are
// left out of account, as protobuf demands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/device_plugin/allocate.h"
#include "service/device_plugin/listing.h"
#include "service/device_plugin/pods.h"

namespace partita::service::device_plugin {

inline constexpr std::string_view kApiVersion = "v1beta1";
inline constexpr std::string_view kRegister = "/v1beta1.Registration/Register";
inline constexpr std::string_view kGetOptions = "/v1beta1.DevicePlugin/GetDevicePluginOptions";
inline constexpr std::string_view kListAndWatch = "/v1beta1.DevicePlugin/ListAndWatch";
inline constexpr std::string_view kPrefer = "/v1beta1.DevicePlugin/GetPreferredAllocation";
inline constexpr std::string_view kAllocate = "/v1beta1.DevicePlugin/Allocate";
inline constexpr std::string_view kPreStart = "/v1beta1.DevicePlugin/PreStartContainer";
inline constexpr std::string_view kListPods = "/v1.PodResourcesLister/List";

// DevicePluginOptions: which devices are preferred can be asked, and nothing need be done before a
// container starts.
[[nodiscard]] std::string OptionsMessage();
// `endpoint` is the name of our socket in kubelet's directory.
[[nodiscard]] std::string RegisterMessage(std::string_view endpoint, std::string_view resource);
[[nodiscard]] std::string ListMessage(const std::vector<Listed>& devices);

// What one container asks for, of those that it may have.
struct PreferRequest {
  std::vector<std::string_view> available, required;  // parts of the message that was read
  std::size_t size = 0;
  bool operator==(const PreferRequest&) const = default;
};
[[nodiscard]] base::Result<std::vector<PreferRequest>> ReadPrefer(std::string_view message);
// The answers, a container each.
[[nodiscard]] std::string PreferMessage(const std::vector<std::vector<std::string>>& answers);

// The ids of each container.
[[nodiscard]] base::Result<std::vector<std::vector<std::string>>> ReadAllocate(
    std::string_view message);
[[nodiscard]] std::string AllocateMessage(const std::vector<Answer>& answers);

[[nodiscard]] base::Result<PodList> ReadPods(std::string_view message);

}  // namespace partita::service::device_plugin
