// Any bytes as kubelet's requests and as its list of pods: an error, or values that are parts of
// the bytes; what was read of an Allocate can be answered, and the answer of a preference is read
// as the ids that it has.
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "service/device_plugin/messages.h"

namespace {

using namespace partita::service::device_plugin;  // NOLINT: a program, not a header

void CheckParts(const std::vector<std::string>& parts, std::string_view of) {
  for (const std::string& part : parts) PARTITA_CHECK(of.find(part) != std::string_view::npos);
}

// Not a copy of a part, but the part itself.
void CheckViews(const std::vector<std::string_view>& parts, std::string_view of) {
  for (const std::string_view part : parts)
    PARTITA_CHECK(part.data() >= of.data() && part.data() + part.size() <= of.data() + of.size());
}

}  // namespace

FUZZ_TARGET(kubelet_messages) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const auto containers = ReadAllocate(bytes); containers.ok()) {
    for (const std::vector<std::string>& ids : *containers) CheckParts(ids, bytes);
    // A preference is answered in the form in which an Allocate asks.
    const auto again = ReadAllocate(PreferMessage(*containers));
    PARTITA_CHECK(again.ok() && *again == *containers);
  }
  if (const auto requests = ReadPrefer(bytes); requests.ok()) {
    for (const PreferRequest& request : *requests) {
      CheckViews(request.available, bytes);
      CheckViews(request.required, bytes);
    }
  }
  if (const auto pods = ReadPods(bytes); pods.ok()) {
    CheckParts(pods->names, bytes);
    for (const PodDevices& pod : pods->devices) {
      PARTITA_CHECK(!pod.ids.empty());
      CheckParts(pod.ids, bytes);
      CheckParts({pod.pod, pod.pod_namespace, pod.container, pod.resource}, bytes);
    }
  }
  return 0;
}
