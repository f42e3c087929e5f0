#include "soak_ledger.h"

#include <cstring>
#include <string>

#include <fmt/core.h>

namespace partita::torture {

void Ledger::Complain(std::string_view text) {
  std::uint32_t nobody = 0;
  if (!complaining.compare_exchange_strong(nobody, 1)) return;
  const std::size_t length = text.copy(complaint, sizeof complaint - 1);
  complaint[length] = '\0';
  complaining = 2;
}

void Ledger::Remember(unsigned gpu, unsigned instance, unsigned compute, std::string_view uuid) {
  if (gpu >= sim::kMaxGpus || instance >= sim::kMaxGpuInstances ||
      compute >= sim::kMaxComputeInstances || uuid.size() >= sizeof UuidRecord::uuid) {
    Complain(fmt::format("gpu {} gi {} ci {} has UUID {}", gpu, instance, compute, uuid));
    return;
  }
  UuidRecord& record = uuids[gpu][instance][compute];
  std::uint32_t empty = 0;
  if (record.state.compare_exchange_strong(empty, 1)) {
    uuid.copy(record.uuid, uuid.size());
    record.uuid[uuid.size()] = '\0';
    record.state = 2;
  } else if (record.state == 2 && uuid != record.uuid) {
    Complain(fmt::format("gpu {} gi {} ci {} has UUID {}, it was {} before", gpu, instance, compute,
                         uuid, record.uuid));
  }
}

}  // namespace partita::torture
