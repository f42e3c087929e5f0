#include "cdi/elf.h"

#include <elf.h>

#include <algorithm>
#include <limits>

#include "base/json.h"
#include "base/value.h"

namespace partita::cdi {
namespace {

constexpr std::string_view kCompatSection = ".note.cuda.fwd_compatibility";
constexpr std::string_view kCompatOwner = "NVIDIA Corporation";

base::Error Damaged(std::string_view what) {
  return base::MakeError(base::ErrorCode::kInvalid, "a damaged ELF file: {}", what);
}

// Where in a 32 and in a 64 bit file a field lies, and how many bytes it has.
struct Field {
  std::uint64_t at32;
  std::uint64_t bytes32;
  std::uint64_t at64;
  std::uint64_t bytes64;
};

struct Segment {
  std::uint64_t type, offset, address, size;
};

struct Section {
  std::uint64_t name, type, offset, size, link, alignment;
};

constexpr Field kProgramHeaders = {28, 4, 32, 8};
constexpr Field kSectionHeaders = {32, 4, 40, 8};
constexpr Field kProgramHeaderSize = {42, 2, 54, 2};
constexpr Field kProgramHeaderCount = {44, 2, 56, 2};
constexpr Field kSectionHeaderSize = {46, 2, 58, 2};
constexpr Field kSectionHeaderCount = {48, 2, 60, 2};
constexpr Field kSectionNames = {50, 2, 62, 2};

constexpr Field kSegmentType = {0, 4, 0, 4};
constexpr Field kSegmentOffset = {4, 4, 8, 8};
constexpr Field kSegmentAddress = {8, 4, 16, 8};
constexpr Field kSegmentSize = {16, 4, 32, 8};

constexpr Field kSectionName = {0, 4, 0, 4};
constexpr Field kSectionType = {4, 4, 4, 4};
constexpr Field kSectionOffset = {16, 4, 24, 8};
constexpr Field kSectionSize = {20, 4, 32, 8};
constexpr Field kSectionLink = {24, 4, 40, 4};
constexpr Field kSectionAlignment = {32, 4, 48, 8};

constexpr Field kDynamicTag = {0, 4, 0, 8};
constexpr Field kDynamicValue = {4, 4, 8, 8};

class File {
 public:
  static base::Result<File> Open(std::string_view bytes) {
    if (!bytes.starts_with("\x7f"
                           "ELF"))
      return base::MakeError(base::ErrorCode::kInvalid, "not an ELF file");
    if (bytes.size() < 64) return Damaged("it ends within its header");
    const auto width = static_cast<unsigned char>(bytes[EI_CLASS]);
    const auto order = static_cast<unsigned char>(bytes[EI_DATA]);
    if (width != ELFCLASS32 && width != ELFCLASS64) return Damaged("its class is unknown");
    if (order != ELFDATA2LSB && order != ELFDATA2MSB) return Damaged("its byte order is unknown");
    return File(bytes, width == ELFCLASS64, order == ELFDATA2MSB);
  }

  // Nothing where the file ends before.
  [[nodiscard]] std::optional<std::uint64_t> Number(std::uint64_t at, std::uint64_t bytes) const {
    if (at > bytes_.size() || bytes > bytes_.size() - at) return std::nullopt;
    std::uint64_t number = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) {
      const std::uint64_t from = big_ ? at + i : at + bytes - 1 - i;
      number = number << 8 | static_cast<unsigned char>(bytes_[from]);
    }
    return number;
  }

  // The field of a table's entry (or of the header, at 0).
  [[nodiscard]] std::optional<std::uint64_t> Get(std::uint64_t entry, Field field) const {
    return wide_ ? Number(entry + field.at64, field.bytes64)
                 : Number(entry + field.at32, field.bytes32);
  }

  [[nodiscard]] std::optional<std::string_view> Bytes(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    return bytes_.substr(at, size);
  }

  [[nodiscard]] std::uint64_t DynamicEntrySize() const { return wide_ ? 16 : 8; }

  [[nodiscard]] base::Result<std::vector<Segment>> Segments() const;
  [[nodiscard]] base::Result<std::vector<Section>> Sections() const;
  [[nodiscard]] base::Result<std::optional<Section>> SectionNamed(std::string_view name,
                                                                  std::uint64_t type) const;

 private:
  File(std::string_view bytes, bool wide, bool big) : bytes_(bytes), wide_(wide), big_(big) {}

  // Where the entries of a table begin; an error when one of them lies beyond the file's end.
  [[nodiscard]] base::Result<std::vector<std::uint64_t>> Table(std::uint64_t at,
                                                               std::uint64_t entry_size,
                                                               std::uint64_t count,
                                                               std::uint64_t least) const {
    std::vector<std::uint64_t> entries;
    if (count == 0) return entries;
    if (entry_size < least || at > bytes_.size() || count > (bytes_.size() - at) / entry_size)
      return Damaged("a table lies beyond its end");
    entries.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) entries.push_back(at + i * entry_size);
    return entries;
  }

  [[nodiscard]] Section SectionAt(std::uint64_t entry) const {
    return {Get(entry, kSectionName).value_or(0),   Get(entry, kSectionType).value_or(0),
            Get(entry, kSectionOffset).value_or(0), Get(entry, kSectionSize).value_or(0),
            Get(entry, kSectionLink).value_or(0),   Get(entry, kSectionAlignment).value_or(0)};
  }

  std::string_view bytes_;
  bool wide_;
  bool big_;
};

// The text at an offset of a string table, up to its NUL.
std::optional<std::string_view> TextAt(std::string_view table, std::uint64_t at) {
  if (at >= table.size()) return std::nullopt;
  const std::size_t end = table.find('\0', at);
  if (end == std::string_view::npos) return std::nullopt;
  return table.substr(at, end - at);
}

base::Result<std::vector<Segment>> File::Segments() const {
  TRY(entries, Table(Get(0, kProgramHeaders).value_or(0), Get(0, kProgramHeaderSize).value_or(0),
                     Get(0, kProgramHeaderCount).value_or(0), wide_ ? 56 : 32));
  std::vector<Segment> segments;
  segments.reserve(entries.size());
  for (const std::uint64_t entry : entries) {
    segments.push_back(
        {Get(entry, kSegmentType).value_or(0), Get(entry, kSegmentOffset).value_or(0),
         Get(entry, kSegmentAddress).value_or(0), Get(entry, kSegmentSize).value_or(0)});
  }
  return segments;
}

base::Result<std::vector<Section>> File::Sections() const {
  const std::uint64_t at = Get(0, kSectionHeaders).value_or(0);
  std::vector<Section> sections;
  if (at == 0) return sections;
  const std::uint64_t size = Get(0, kSectionHeaderSize).value_or(0);
  const std::uint64_t least = wide_ ? 64 : 40;
  std::uint64_t count = Get(0, kSectionHeaderCount).value_or(0);
  // More than 16 bits can count: the first section, which is none, has the number.
  if (count == 0) {
    TRY(first, Table(at, size, 1, least));
    count = SectionAt(first.front()).size;
  }
  TRY(entries, Table(at, size, count, least));
  for (const std::uint64_t entry : entries) sections.push_back(SectionAt(entry));
  return sections;
}

base::Result<std::optional<Section>> File::SectionNamed(std::string_view name,
                                                        std::uint64_t type) const {
  TRY(sections, Sections());
  if (sections.empty()) return std::optional<Section>();
  std::uint64_t names = Get(0, kSectionNames).value_or(0);
  if (names == SHN_XINDEX) names = sections.front().link;
  if (names >= sections.size()) return Damaged("its section names are missing");
  const std::optional<std::string_view> table = Bytes(sections[names].offset, sections[names].size);
  if (!table) return Damaged("its section names lie beyond its end");
  for (const Section& section : sections) {
    if (section.type == type && TextAt(*table, section.name) == name)
      return std::optional<Section>(section);
  }
  return std::optional<Section>();
}

struct Dynamic {
  std::uint64_t at = 0;
  std::uint64_t size = 0;
  std::optional<std::string_view> strings;  // when they are known without reading it
};

// The entries (tag, value) up to the one that ends them.
base::Result<std::vector<std::pair<std::uint64_t, std::uint64_t>>> ReadDynamic(
    const File& file, const Dynamic& dynamic) {
  if (!file.Bytes(dynamic.at, dynamic.size))
    return Damaged("its dynamic section lies beyond its end");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
  const std::uint64_t step = file.DynamicEntrySize();
  for (std::uint64_t at = 0; at + step <= dynamic.size; at += step) {
    const std::uint64_t tag = file.Get(dynamic.at + at, kDynamicTag).value_or(0);
    if (tag == DT_NULL) break;
    entries.emplace_back(tag, file.Get(dynamic.at + at, kDynamicValue).value_or(0));
  }
  return entries;
}

// The dynamic section's string table is named by its address in memory.
std::optional<std::string_view> StringsByAddress(
    const File& file,
    const std::vector<Segment>& segments,
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& entries) {
  std::optional<std::uint64_t> address, size;
  for (const auto& [tag, value] : entries) {
    if (tag == DT_STRTAB) address = value;
    if (tag == DT_STRSZ) size = value;
  }
  if (!address || !size) return std::nullopt;
  for (const Segment& segment : segments) {
    if (segment.type != PT_LOAD || *address < segment.address) continue;
    const std::uint64_t inside = *address - segment.address;
    if (inside >= segment.size || *size > segment.size - inside) continue;
    if (segment.offset > std::numeric_limits<std::uint64_t>::max() - inside) return std::nullopt;
    return file.Bytes(segment.offset + inside, *size);
  }
  return std::nullopt;
}

base::Result<std::optional<Dynamic>> DynamicBySections(const File& file) {
  TRY(sections, file.Sections());
  const auto found = std::find_if(sections.begin(), sections.end(), [](const Section& section) {
    return section.type == SHT_DYNAMIC;
  });
  if (found == sections.end()) return std::optional<Dynamic>();
  if (found->link >= sections.size()) return Damaged("its dynamic section has no strings");
  const Section& strings = sections[found->link];
  const std::optional<std::string_view> table = file.Bytes(strings.offset, strings.size);
  if (!table) return Damaged("its strings lie beyond its end");
  return std::optional<Dynamic>(Dynamic{found->offset, found->size, table});
}

// From what stands after the owner in the note.
base::Result<std::optional<CompatNote>> ParseCompat(std::string_view json) {
  TRY(value, base::ParseJson(json), "the note of the CUDA compatibility library");
  CompatNote note;
  const base::Value* cuda = value.Find("CUDA Version");
  if (cuda != nullptr && cuda->kind() == base::Value::Kind::kString)
    note.cuda_version = cuda->AsString();
  const base::Value* drivers = value.Find("Driver");
  if (drivers == nullptr) return std::optional(note);
  if (drivers->kind() != base::Value::Kind::kList)
    return Damaged("\"Driver\" of its CUDA compatibility note is no list");
  for (const base::Value& major : drivers->items()) {
    if (major.kind() != base::Value::Kind::kUnsigned ||
        major.AsUnsigned() > std::numeric_limits<std::uint32_t>::max())
      return Damaged("its CUDA compatibility note names a driver that is no number");
    note.driver_majors.push_back(static_cast<std::uint32_t>(major.AsUnsigned()));
  }
  return std::optional(note);
}

std::string_view WithoutNuls(std::string_view text) {
  while (text.ends_with('\0')) text.remove_suffix(1);
  while (text.starts_with('\0')) text.remove_prefix(1);
  return text;
}

}  // namespace

base::Result<std::vector<std::string>> ReadSonames(std::string_view elf_file) {
  TRY(file, File::Open(elf_file));
  TRY(segments, file.Segments());
  const auto segment = std::find_if(segments.begin(), segments.end(),
                                    [](const Segment& each) { return each.type == PT_DYNAMIC; });
  std::optional<Dynamic> dynamic;
  if (segment != segments.end()) {
    dynamic = Dynamic{segment->offset, segment->size, std::nullopt};
  } else {
    TRY(by_sections, DynamicBySections(file));
    dynamic = by_sections;
  }
  std::vector<std::string> sonames;
  if (!dynamic) return sonames;
  TRY(entries, ReadDynamic(file, *dynamic));
  const std::optional<std::string_view> strings =
      dynamic->strings ? dynamic->strings : StringsByAddress(file, segments, entries);
  for (const auto& [tag, value] : entries) {
    if (tag != DT_SONAME) continue;
    const std::optional<std::string_view> text = TextAt(strings.value_or(""), value);
    if (!text) return Damaged("its SONAME lies beyond its strings");
    sonames.emplace_back(*text);
  }
  return sonames;
}

base::Result<std::optional<CompatNote>> ReadCompatNote(std::string_view elf_file) {
  TRY(file, File::Open(elf_file));
  TRY(section, file.SectionNamed(kCompatSection, SHT_NOTE));
  if (!section) return std::optional<CompatNote>();
  const std::optional<std::string_view> note = file.Bytes(section->offset, section->size);
  if (!note) return Damaged("its CUDA compatibility note lies beyond its end");
  constexpr std::uint64_t kHeader = 12;  // three words: name's and description's size, type
  const std::optional<std::uint64_t> name_size = file.Number(section->offset, 4);
  const std::optional<std::uint64_t> text_size = file.Number(section->offset + 4, 4);
  if (note->size() < kHeader || !name_size || !text_size)
    return Damaged("its CUDA compatibility note has no header");
  const std::uint64_t alignment = section->alignment == 8 ? 8 : 4;
  const std::uint64_t text_at = kHeader + (*name_size + alignment - 1) / alignment * alignment;
  if (text_at > note->size()) return Damaged("its CUDA compatibility note is cut off");
  if (WithoutNuls(note->substr(kHeader, *name_size)) != kCompatOwner)
    return std::optional<CompatNote>();
  // Some libraries (of Orin) state more bytes than the section has.
  return ParseCompat(WithoutNuls(note->substr(text_at, *text_size)));
}

}  // namespace partita::cdi
