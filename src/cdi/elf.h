// What ELF files tell about themselves. Any bytes may come: every offset is looked at before it is
// followed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::cdi {

// Fills all of `to` with what the file has from there on; false where it ends before.
using ReadBytes = std::function<bool(std::uint64_t at, std::span<char> to)>;

// Every DT_SONAME, of 32 and 64 bit files; none where there is no dynamic section. It is found by
// the program headers, as the loader does, else by the sections. kInvalid: not an ELF file, or a
// damaged one, or tables and names of a size that no library has.
[[nodiscard]] base::Result<std::vector<std::string>> ReadSonames(const ReadBytes& elf_file);
[[nodiscard]] base::Result<std::vector<std::string>> ReadSonames(std::string_view elf_file);

// The note by which a libcuda for forward compatibility says which drivers it can stand on.
struct CompatNote {
  std::string cuda_version;                  // "13.1"; may be empty
  std::vector<std::uint32_t> driver_majors;  // may be empty
  bool operator==(const CompatNote&) const = default;
};
// Nothing where the file has no such note, or one of another owner.
[[nodiscard]] base::Result<std::optional<CompatNote>> ReadCompatNote(const ReadBytes& elf_file);
[[nodiscard]] base::Result<std::optional<CompatNote>> ReadCompatNote(std::string_view elf_file);

}  // namespace partita::cdi
