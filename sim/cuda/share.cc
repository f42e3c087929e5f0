#include "sim/cuda/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace partita::sim::cuda {
namespace {

constexpr uint64_t kKibibyteShift = 10;
constexpr uint64_t kMebibyteShift = 20;
constexpr uint64_t kGibibyteShift = 30;
constexpr uint64_t kPage = uint64_t{2} << kMebibyteShift;

}  // namespace

uint64_t ContextBytes(uint32_t multiprocessors, bool mps) {
  // In KiB: 28 MiB, and 3.65 or 3.773 MiB for each.
  const uint64_t each = mps ? 3738 : 3863;
  const uint64_t bytes = (28672 + each * multiprocessors) << kKibibyteShift;
  return (bytes + kPage / 2) / kPage * kPage;
}

uint64_t RoundToPages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

uint32_t SharedMultiprocessors(uint32_t all, double percentage) {
  const auto pairs = static_cast<uint32_t>(all * percentage / 200.0);
  const uint32_t share = pairs == 0 ? 2 : pairs * 2;
  return percentage >= 100.0 || share > all ? all : share;
}

bool ParsePercentage(const char* text, double* out) {
  char* end = nullptr;
  const double value = strtod(text, &end);
  // Written so that NaN is refused.
  if (end == text || !(value > 0.0 && value <= 100.0)) return false;
  *out = value;
  return true;
}

uint64_t ParseLimit(const char* text) {
  char* end = nullptr;
  const uint64_t number = strtoull(text, &end, 10);
  return number << (*end == 'G' || *end == 'g' ? kGibibyteShift : kMebibyteShift);
}

void WriteLimit(uint64_t bytes, char* out, size_t size) {
  const uint64_t gibibytes = bytes >> kGibibyteShift;
  const uint64_t mebibytes = bytes >> kMebibyteShift;
  if (bytes == 0) {
    snprintf(out, size, "%s", "");
  } else if (gibibytes != 0) {
    snprintf(out, size, "%lluG", static_cast<unsigned long long>(gibibytes));
  } else {
    snprintf(out, size, "%lluM", static_cast<unsigned long long>(mebibytes));
  }
}

bool FindLimit(const char* list, uint32_t ordinal, const char* uuid, uint64_t* bytes) {
  bool found = false;
  while (true) {
    const size_t length = strcspn(list, ",");
    const size_t key = strcspn(list, "=,");
    if (key < length) {
      char* end = nullptr;
      const unsigned long number = strtoul(list, &end, 10);
      const bool by_number = end == list + key && end != list && number == ordinal;
      const bool by_name = key > 0 && strncasecmp(list, uuid, key) == 0 && strlen(uuid) == key;
      if (by_number || by_name) {
        *bytes = ParseLimit(list + key + 1);
        found = true;
      }
    }
    if (list[length] == '\0') return found;
    list += length + 1;
  }
}

}  // namespace partita::sim::cuda
