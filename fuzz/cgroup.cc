// Any bytes as a process's cgroup and as names in the kubelet's log folders: what comes out is safe
// to print, and short.
#include <algorithm>

#include "fuzz/target.h"
#include "hw/procfs/containers.h"

namespace {

bool IsPlain(const std::string& text) {
  return text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.';
         });
}

void Check(const std::optional<partita::model::Container>& container) {
  if (!container) return;
  PARTITA_CHECK(*container != partita::model::Container());
  for (const std::string* text : {&container->id, &container->name, &container->pod_uid,
                                  &container->pod_namespace, &container->pod_name}) {
    PARTITA_CHECK(IsPlain(*text));
  }
  PARTITA_CHECK(container->id.size() <= 64);
}

}  // namespace

FUZZ_TARGET(cgroup) {
  namespace procfs = partita::hw::procfs;
  const std::string_view text = partita::fuzz::AsText(data, size);
  Check(procfs::ParseCgroup(text));
  Check(procfs::ParsePodFolder(text));
  Check(procfs::ParseContainerLog(text));
  return 0;
}
