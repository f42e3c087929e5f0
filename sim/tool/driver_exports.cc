#include "sim/tool/driver_exports.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace partita::sim::tool {
namespace {

// The first two numbers of a driver version, as one that can be compared: 535.98 is 535'0098.
constexpr unsigned Version(unsigned branch, unsigned release = 0) {
  return branch * 10'000 + release;
}
constexpr unsigned kBeginning = 0;

// Missing from `from` on, until it came (back) with `until`.
struct Gap {
  std::string_view symbol;
  unsigned from, until;
};

// Sources. The three _v3 lists: NVIDIA's header in nvidia-settings, as nvitop #89 goes through it:
// added by 510.39.01, removed by 535.98; back with 535.104.05 (nvitop #88), in R550's reference
// guide and in the captured 580. Memory version 2: with the _v3 lists (nvitop #30, which saw 470
// without and 510 with it). Profile version 2: the MIG chapters of NVIDIA's reference guides R470
// (none) and R515. The list of details: the structs of the guides R535 (none) and R550. System
// events: in the captured 580 and in the guide R590, not in the chapter on events of an older
// guide; with which of the branches between they came is not known, and DCGM goes on without where
// they are missing.
constexpr std::array kGaps = {
    Gap{"nvmlDeviceGetComputeRunningProcesses_v3", kBeginning, Version(510, 39)},
    Gap{"nvmlDeviceGetComputeRunningProcesses_v3", Version(535, 98), Version(535, 104)},
    Gap{"nvmlDeviceGetGraphicsRunningProcesses_v3", kBeginning, Version(510, 39)},
    Gap{"nvmlDeviceGetGraphicsRunningProcesses_v3", Version(535, 98), Version(535, 104)},
    Gap{"nvmlDeviceGetMPSComputeRunningProcesses_v3", kBeginning, Version(510, 39)},
    Gap{"nvmlDeviceGetMPSComputeRunningProcesses_v3", Version(535, 98), Version(535, 104)},
    Gap{"nvmlDeviceGetMemoryInfo_v2", kBeginning, Version(510, 39)},
    Gap{"nvmlDeviceGetGpuInstanceProfileInfoV", kBeginning, Version(510, 39)},
    Gap{"nvmlGpuInstanceGetComputeInstanceProfileInfoV", kBeginning, Version(510, 39)},
    Gap{"nvmlDeviceGetRunningProcessDetailList", kBeginning, Version(545)},
    Gap{"nvmlSystemEventSetCreate", kBeginning, Version(570)},
    Gap{"nvmlSystemEventSetFree", kBeginning, Version(570)},
    Gap{"nvmlSystemEventSetWait", kBeginning, Version(570)},
    Gap{"nvmlSystemRegisterEvents", kBeginning, Version(570)},
};

unsigned ParseVersion(std::string_view version) {
  const std::string text(version);
  char* rest = nullptr;
  const auto branch = static_cast<unsigned>(std::strtoul(text.c_str(), &rest, 10));
  const auto release =
      *rest == '.' ? static_cast<unsigned>(std::strtoul(rest + 1, nullptr, 10)) : 0U;
  return Version(branch, release);
}

// A part of the file as an array, if it is wholly there.
template <typename Entry>
Entry* At(std::string& file, std::size_t offset, std::size_t count) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(Entry)) return nullptr;
  return reinterpret_cast<Entry*>(file.data() + offset);
}

base::Error NotALibrary() {
  return base::MakeError(base::ErrorCode::kInvalid,
                         "the simulated NVML library is no 64-bit shared library")
      .WithHint("build it anew");
}

struct DynamicSymbols {
  Elf64_Sym* symbols;
  std::size_t count;
  const char* names;
  std::size_t names_size;
};

base::Result<DynamicSymbols> FindDynamicSymbols(std::string& file) {
  const auto* header = At<Elf64_Ehdr>(file, 0, 1);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return NotALibrary();
  const auto* sections = At<Elf64_Shdr>(file, header->e_shoff, header->e_shnum);
  for (unsigned i = 0; sections != nullptr && i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM || sections[i].sh_link >= header->e_shnum) continue;
    const Elf64_Shdr& strings = sections[sections[i].sh_link];
    const std::size_t count = sections[i].sh_size / sizeof(Elf64_Sym);
    auto* symbols = At<Elf64_Sym>(file, sections[i].sh_offset, count);
    const char* names = At<char>(file, strings.sh_offset, strings.sh_size);
    if (symbols != nullptr && names != nullptr)
      return DynamicSymbols{symbols, count, names, strings.sh_size};
  }
  return NotALibrary();
}

}  // namespace

std::vector<std::string_view> LackingSymbols(std::string_view version) {
  const unsigned number = ParseVersion(version);
  std::vector<std::string_view> lacking;
  for (const Gap& gap : kGaps)
    if (gap.from <= number && number < gap.until) lacking.push_back(gap.symbol);
  return lacking;
}

base::Result<std::string> WithoutSymbols(std::string library,
                                         const std::vector<std::string_view>& symbols) {
  TRY(table, FindDynamicSymbols(library));
  for (const std::string_view wanted : symbols) {
    const auto is_wanted = [&](const Elf64_Sym& symbol) {
      return symbol.st_name < table.names_size && wanted == table.names + symbol.st_name;
    };
    Elf64_Sym* end = table.symbols + table.count;
    Elf64_Sym* found = std::find_if(table.symbols, end, is_wanted);
    if (found == end)
      return base::MakeError(base::ErrorCode::kInvalid, "the simulated NVML library has no {}",
                             wanted);
    // The loader passes local symbols by when it looks one up, and still finds them for what the
    // library itself refers to.
    found->st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(found->st_info));
  }
  return library;
}

}  // namespace partita::sim::tool
