#include "service/device_plugin/messages.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "net/rpc/wire.h"

namespace partita::service::device_plugin {
namespace {

using base::Result;
using net::rpc::WireField;
using net::rpc::WireReader;
using net::rpc::WireWriter;

template <typename Take>
Result<void> EachField(std::string_view message, const Take& take) {
  WireReader reader(message);
  for (WireField field; reader.Take(field);) TRY_VOID(take(field));
  return reader.Ended();
}

Result<void> Expect(const WireField& field, WireField::Kind kind) {
  if (field.kind == kind) return {};
  return base::MakeError(base::ErrorCode::kInvalid, "field {} has another type than it should have",
                         field.number);
}

template <typename Text>
Result<void> AddText(const WireField& field, std::vector<Text>& to) {
  TRY_VOID(Expect(field, WireField::Kind::kBytes));
  to.emplace_back(field.bytes);
  return {};
}

Result<void> SetText(const WireField& field, std::string& to) {
  TRY_VOID(Expect(field, WireField::Kind::kBytes));
  to = field.bytes;
  return {};
}

// Calls `read` with the bytes of each message in field `number`.
template <typename Read>
Result<void> EachMessage(std::string_view message, std::uint32_t number, const Read& read) {
  return EachField(message, [&](const WireField& field) -> Result<void> {
    if (field.number != number) return {};
    TRY_VOID(Expect(field, WireField::Kind::kBytes));
    return read(field.bytes);
  });
}

std::string NodesMessage(int numa_node) {
  // A NUMA node whose number is 0 is a message without fields.
  const std::string node = WireWriter().Signed(1, numa_node).Take();
  return WireWriter().Message(1, node).Take();
}

std::string ContainerMessage(const Answer& answer) {
  WireWriter writer;
  for (const auto& [name, value] : answer.envs) writer.Entry(1, name, value);
  for (const Answer::Mount& mount : answer.mounts)
    writer.Message(2, WireWriter()
                          .Text(1, mount.container_path)
                          .Text(2, mount.host_path)
                          .Flag(3, mount.read_only)
                          .Take());
  for (const Answer::Node& node : answer.nodes)
    writer.Message(3, WireWriter()
                          .Text(1, node.container_path)
                          .Text(2, node.host_path)
                          .Text(3, node.permissions)
                          .Take());
  for (const auto& [name, value] : answer.annotations) writer.Entry(4, name, value);
  for (const std::string& name : answer.cdi_devices)
    writer.Message(5, WireWriter().Text(1, name).Take());
  return writer.Take();
}

Result<PodDevices> ReadDevices(std::string_view message, PodDevices held) {
  TRY_VOID(EachField(message, [&](const WireField& field) {
    if (field.number == 1) return SetText(field, held.resource);
    if (field.number == 2) return AddText(field, held.ids);
    return Result<void>();
  }));
  return held;
}

Result<void> ReadContainer(std::string_view message,
                           const PodDevices& pod,
                           std::vector<PodDevices>& to) {
  PodDevices of = pod;
  TRY_VOID(EachField(message, [&](const WireField& field) {
    return field.number == 1 ? SetText(field, of.container) : Result<void>();
  }));
  return EachMessage(message, 2, [&](std::string_view devices) -> Result<void> {
    TRY(held, ReadDevices(devices, of));
    if (!held.ids.empty()) to.push_back(std::move(held));
    return {};
  });
}

Result<void> ReadPod(std::string_view message, PodList& to) {
  PodDevices pod;
  TRY_VOID(EachField(message, [&](const WireField& field) {
    if (field.number == 1) return SetText(field, pod.pod);
    if (field.number == 2) return SetText(field, pod.pod_namespace);
    return Result<void>();
  }));
  to.names.push_back(pod.pod);
  return EachMessage(message, 3, [&](std::string_view container) {
    return ReadContainer(container, pod, to.devices);
  });
}

Result<void> SetSize(const WireField& field, std::size_t& size) {
  TRY_VOID(Expect(field, WireField::Kind::kVarint));
  // int32: a negative one comes with all of its 64 bits.
  const auto value = static_cast<std::int64_t>(field.value);
  size = value > 0 ? static_cast<std::size_t>(value) : 0;
  return {};
}

Result<void> AddTo(PreferRequest& request, const WireField& field) {
  if (field.number == 1) return AddText(field, request.available);
  if (field.number == 2) return AddText(field, request.required);
  if (field.number == 3) return SetSize(field, request.size);
  return {};
}

Result<PreferRequest> ReadPreferOfContainer(std::string_view message) {
  PreferRequest request;
  WireReader reader(message);
  for (WireField field; reader.Take(field);) {
    // Of hundreds of ids each would have a Result of its own: half of what reading them takes.
    if (field.number == 1 && field.kind == WireField::Kind::kBytes) {
      request.available.push_back(field.bytes);
    } else {
      TRY_VOID(AddTo(request, field));
    }
  }
  TRY_VOID(reader.Ended());
  return request;
}

Result<std::vector<std::string>> ReadIds(std::string_view message) {
  std::vector<std::string> ids;
  TRY_VOID(EachField(message, [&](const WireField& field) {
    return field.number == 1 ? AddText(field, ids) : Result<void>();
  }));
  return ids;
}

// Every message in field 1, read.
template <typename T>
Result<std::vector<T>> ReadAll(std::string_view message, Result<T> (*read)(std::string_view)) {
  std::vector<T> all;
  const auto add = [&](std::string_view bytes) -> Result<void> {
    TRY(one, read(bytes));
    all.push_back(std::move(one));
    return {};
  };
  TRY_VOID(EachMessage(message, 1, add));
  return all;
}

}  // namespace

std::string OptionsMessage() { return WireWriter().Flag(2, true).Take(); }

std::string RegisterMessage(std::string_view endpoint, std::string_view resource) {
  return WireWriter()
      .Text(1, kApiVersion)
      .Text(2, endpoint)
      .Text(3, resource)
      .Message(4, OptionsMessage())
      .Take();
}

std::string ListMessage(const std::vector<Listed>& devices) {
  WireWriter writer;
  for (const Listed& device : devices) {
    WireWriter each;
    each.Text(1, device.id).Text(2, device.healthy ? "Healthy" : "Unhealthy");
    if (device.numa_node) each.Message(3, NodesMessage(*device.numa_node));
    writer.Message(1, each.Take());
  }
  return writer.Take();
}

Result<std::vector<PreferRequest>> ReadPrefer(std::string_view message) {
  return ReadAll(message, ReadPreferOfContainer);
}

std::string PreferMessage(const std::vector<std::vector<std::string>>& answers) {
  WireWriter writer;
  for (const std::vector<std::string>& ids : answers) {
    WireWriter container;
    for (const std::string& id : ids) container.Element(1, id);
    writer.Message(1, container.Take());
  }
  return writer.Take();
}

Result<std::vector<std::vector<std::string>>> ReadAllocate(std::string_view message) {
  return ReadAll(message, ReadIds);
}

std::string AllocateMessage(const std::vector<Answer>& answers) {
  WireWriter writer;
  for (const Answer& answer : answers) writer.Message(1, ContainerMessage(answer));
  return writer.Take();
}

Result<PodList> ReadPods(std::string_view message) {
  PodList pods;
  TRY_VOID(EachMessage(message, 1, [&](std::string_view pod) { return ReadPod(pod, pods); }));
  return pods;
}

}  // namespace partita::service::device_plugin
