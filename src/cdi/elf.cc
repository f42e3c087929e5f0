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

// NVIDIA's libraries have some 40 sections, 300 dynamic entries, one SONAME, and a note of a few
// hundred bytes.
constexpr std::uint64_t kMostTable = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostNote = std::uint64_t{64} << 10;
constexpr std::size_t kMostSonames = 16;

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

struct Place {
  std::uint64_t at = 0;
  std::uint64_t size = 0;
};

struct Segment {
  std::uint64_t type;
  Place place;
  std::uint64_t address;
};

struct Section {
  std::uint64_t name, type;
  Place place;
  std::uint64_t link, alignment;
};

using Entries = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

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

// Everything is read in pieces of a bounded size: a hostile file may state any.
class File {
 public:
  static base::Result<File> Open(const ReadBytes& read) {
    File file(read);
    const std::optional<std::string> magic = file.Bytes(0, 4);
    if (magic != ELFMAG) return base::MakeError(base::ErrorCode::kInvalid, "not an ELF file");
    std::optional<std::string> header = file.Bytes(0, kHeader);
    if (!header) return Damaged("it ends within its header");
    const auto width = static_cast<unsigned char>((*header)[EI_CLASS]);
    const auto order = static_cast<unsigned char>((*header)[EI_DATA]);
    if (width != ELFCLASS32 && width != ELFCLASS64) return Damaged("its class is unknown");
    if (order != ELFDATA2LSB && order != ELFDATA2MSB) return Damaged("its byte order is unknown");
    file.header_ = *std::move(header);
    file.wide_ = width == ELFCLASS64;
    file.big_ = order == ELFDATA2MSB;
    return file;
  }

  // 0 where the bytes end before.
  [[nodiscard]] std::uint64_t Number(std::string_view in,
                                     std::uint64_t at,
                                     std::uint64_t bytes) const {
    if (at > in.size() || bytes > in.size() - at) return 0;
    std::uint64_t number = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) {
      const std::uint64_t from = big_ ? at + i : at + bytes - 1 - i;
      number = number << 8 | static_cast<unsigned char>(in[from]);
    }
    return number;
  }

  // The field of a table's entry, or of the header.
  [[nodiscard]] std::uint64_t Get(std::string_view entry, Field field) const {
    return wide_ ? Number(entry, field.at64, field.bytes64)
                 : Number(entry, field.at32, field.bytes32);
  }

  // Nothing where the file ends before. The caller knows that the size is small.
  [[nodiscard]] std::optional<std::string> Bytes(std::uint64_t at, std::uint64_t size) const {
    std::string bytes(size, '\0');
    if (at > std::numeric_limits<std::uint64_t>::max() - size || !read_(at, bytes))
      return std::nullopt;
    return bytes;
  }

  [[nodiscard]] bool Has(const Place& place) const {
    return place.size == 0 || (place.at <= std::numeric_limits<std::uint64_t>::max() - place.size &&
                               Bytes(place.at + place.size - 1, 1));
  }

  // Is this, with its NUL, the text there?
  [[nodiscard]] bool IsText(const Place& table, std::uint64_t at, std::string_view text) const {
    if (at >= table.size || table.size - at <= text.size()) return false;
    const std::optional<std::string> bytes = Bytes(table.at + at, text.size() + 1);
    return bytes && bytes->starts_with(text) && bytes->back() == '\0';
  }

  // The entries (tag, value) up to the one that ends them.
  [[nodiscard]] base::Result<Entries> ReadDynamic(const Place& place) const;
  [[nodiscard]] base::Result<std::vector<Segment>> Segments() const;
  [[nodiscard]] base::Result<std::vector<Section>> Sections() const;
  [[nodiscard]] base::Result<std::optional<Section>> SectionNamed(std::string_view name,
                                                                  std::uint64_t type) const;

 private:
  static constexpr std::uint64_t kHeader = 64;

  explicit File(const ReadBytes& read) : read_(read) {}

  // The bytes of each entry of a table; an error when one of them lies beyond the file's end.
  [[nodiscard]] base::Result<std::vector<std::string>> Table(std::uint64_t at,
                                                             std::uint64_t entry_size,
                                                             std::uint64_t count,
                                                             std::uint64_t least) const {
    std::vector<std::string> entries;
    if (count == 0) return entries;
    if (entry_size < least) return Damaged("a table lies beyond its end");
    if (count > kMostTable / entry_size)
      return Damaged(fmt::format("a table has more than {} bytes", kMostTable));
    const std::optional<std::string> bytes = Bytes(at, count * entry_size);
    if (!bytes) return Damaged("a table lies beyond its end");
    entries.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i)
      entries.push_back(bytes->substr(i * entry_size, least));
    return entries;
  }

  [[nodiscard]] Section SectionOf(std::string_view entry) const {
    return {Get(entry, kSectionName),
            Get(entry, kSectionType),
            {Get(entry, kSectionOffset), Get(entry, kSectionSize)},
            Get(entry, kSectionLink),
            Get(entry, kSectionAlignment)};
  }

  const ReadBytes& read_;
  std::string header_;
  bool wide_ = false;
  bool big_ = false;
};

base::Result<std::vector<Segment>> File::Segments() const {
  TRY(entries, Table(Get(header_, kProgramHeaders), Get(header_, kProgramHeaderSize),
                     Get(header_, kProgramHeaderCount), wide_ ? 56 : 32));
  std::vector<Segment> segments;
  segments.reserve(entries.size());
  for (const std::string& entry : entries) {
    segments.push_back({Get(entry, kSegmentType),
                        {Get(entry, kSegmentOffset), Get(entry, kSegmentSize)},
                        Get(entry, kSegmentAddress)});
  }
  return segments;
}

base::Result<std::vector<Section>> File::Sections() const {
  const std::uint64_t at = Get(header_, kSectionHeaders);
  std::vector<Section> sections;
  if (at == 0) return sections;
  const std::uint64_t size = Get(header_, kSectionHeaderSize);
  const std::uint64_t least = wide_ ? 64 : 40;
  std::uint64_t count = Get(header_, kSectionHeaderCount);
  // More than 16 bits can count: the first section, which is none, has the number.
  if (count == 0) {
    TRY(first, Table(at, size, 1, least));
    count = SectionOf(first.front()).place.size;
  }
  TRY(entries, Table(at, size, count, least));
  sections.reserve(entries.size());
  for (const std::string& entry : entries) sections.push_back(SectionOf(entry));
  return sections;
}

base::Result<std::optional<Section>> File::SectionNamed(std::string_view name,
                                                        std::uint64_t type) const {
  TRY(sections, Sections());
  if (sections.empty()) return std::optional<Section>();
  std::uint64_t names = Get(header_, kSectionNames);
  if (names == SHN_XINDEX) names = sections.front().link;
  if (names >= sections.size()) return Damaged("its section names are missing");
  const Place& table = sections[names].place;
  if (!Has(table)) return Damaged("its section names lie beyond its end");
  for (const Section& section : sections) {
    if (section.type == type && IsText(table, section.name, name))
      return std::optional<Section>(section);
  }
  return std::optional<Section>();
}

base::Result<Entries> File::ReadDynamic(const Place& place) const {
  if (place.size > kMostTable)
    return Damaged(fmt::format("its dynamic section has more than {} bytes", kMostTable));
  const std::optional<std::string> bytes = Bytes(place.at, place.size);
  if (!bytes) return Damaged("its dynamic section lies beyond its end");
  Entries entries;
  const std::uint64_t step = wide_ ? 16 : 8;
  for (std::uint64_t at = 0; at + step <= bytes->size(); at += step) {
    const std::string_view entry = std::string_view(*bytes).substr(at, step);
    const std::uint64_t tag = Get(entry, kDynamicTag);
    if (tag == DT_NULL) break;
    entries.emplace_back(tag, Get(entry, kDynamicValue));
  }
  return entries;
}

// The dynamic section's string table is named by its address in memory.
std::optional<Place> StringsByAddress(const std::vector<Segment>& segments,
                                      const Entries& entries) {
  std::optional<std::uint64_t> address, size;
  for (const auto& [tag, value] : entries) {
    if (tag == DT_STRTAB) address = value;
    if (tag == DT_STRSZ) size = value;
  }
  if (!address || !size) return std::nullopt;
  for (const Segment& segment : segments) {
    if (segment.type != PT_LOAD || *address < segment.address) continue;
    const std::uint64_t inside = *address - segment.address;
    if (inside >= segment.place.size || *size > segment.place.size - inside) continue;
    if (segment.place.at > std::numeric_limits<std::uint64_t>::max() - inside) return std::nullopt;
    return Place{segment.place.at + inside, *size};
  }
  return std::nullopt;
}

struct Dynamic {
  Place place;
  std::optional<Place> strings;  // when they are known without reading it
};

base::Result<std::optional<Dynamic>> DynamicBySections(const File& file) {
  TRY(sections, file.Sections());
  const auto found = std::find_if(sections.begin(), sections.end(), [](const Section& section) {
    return section.type == SHT_DYNAMIC;
  });
  if (found == sections.end()) return std::optional<Dynamic>();
  if (found->link >= sections.size()) return Damaged("its dynamic section has no strings");
  return std::optional<Dynamic>(Dynamic{found->place, sections[found->link].place});
}

base::Result<std::string> SonameAt(const File& file, const Place& strings, std::uint64_t at) {
  constexpr std::uint64_t kMost = 255;  // as a file's name: it becomes one
  if (at >= strings.size || !file.Has(strings))
    return Damaged("its SONAME lies beyond its strings");
  const std::optional<std::string> text =
      file.Bytes(strings.at + at, std::min(strings.size - at, kMost + 1));
  if (!text) return Damaged("its SONAME lies beyond its strings");
  const std::size_t end = text->find('\0');
  if (end != std::string::npos) return text->substr(0, end);
  if (text->size() > kMost) return Damaged(fmt::format("its SONAME has more than {} bytes", kMost));
  return Damaged("its SONAME lies beyond its strings");
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

ReadBytes FromMemory(std::string_view bytes) {
  return [bytes](std::uint64_t at, std::span<char> to) {
    if (at > bytes.size() || to.size() > bytes.size() - at) return false;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), to.size(), to.begin());
    return true;
  };
}

}  // namespace

base::Result<std::vector<std::string>> ReadSonames(std::string_view elf_file) {
  return ReadSonames(FromMemory(elf_file));
}

base::Result<std::optional<CompatNote>> ReadCompatNote(std::string_view elf_file) {
  return ReadCompatNote(FromMemory(elf_file));
}

base::Result<std::vector<std::string>> ReadSonames(const ReadBytes& elf_file) {
  TRY(file, File::Open(elf_file));
  TRY(segments, file.Segments());
  const auto segment = std::find_if(segments.begin(), segments.end(),
                                    [](const Segment& each) { return each.type == PT_DYNAMIC; });
  std::optional<Dynamic> dynamic;
  if (segment != segments.end()) {
    dynamic = Dynamic{segment->place, std::nullopt};
  } else {
    TRY(by_sections, DynamicBySections(file));
    dynamic = by_sections;
  }
  std::vector<std::string> sonames;
  if (!dynamic) return sonames;
  TRY(entries, file.ReadDynamic(dynamic->place));
  const std::optional<Place> strings =
      dynamic->strings ? dynamic->strings : StringsByAddress(segments, entries);
  for (const auto& [tag, value] : entries) {
    if (tag != DT_SONAME) continue;
    if (sonames.size() == kMostSonames)
      return Damaged(fmt::format("it has more than {} SONAMEs", kMostSonames));
    TRY(soname, SonameAt(file, strings.value_or(Place{}), value));
    sonames.push_back(std::move(soname));
  }
  return sonames;
}

base::Result<std::optional<CompatNote>> ReadCompatNote(const ReadBytes& elf_file) {
  TRY(file, File::Open(elf_file));
  TRY(section, file.SectionNamed(kCompatSection, SHT_NOTE));
  if (!section) return std::optional<CompatNote>();
  if (section->place.size > kMostNote)
    return Damaged(fmt::format("its CUDA compatibility note has more than {} bytes", kMostNote));
  const std::optional<std::string> bytes = file.Bytes(section->place.at, section->place.size);
  if (!bytes) return Damaged("its CUDA compatibility note lies beyond its end");
  const std::string_view note = *bytes;
  constexpr std::uint64_t kHeader = 12;  // three words: name's and description's size, type
  if (note.size() < kHeader) return Damaged("its CUDA compatibility note has no header");
  const std::uint64_t name_size = file.Number(note, 0, 4);
  const std::uint64_t text_size = file.Number(note, 4, 4);
  const std::uint64_t alignment = section->alignment == 8 ? 8 : 4;
  const std::uint64_t text_at = kHeader + (name_size + alignment - 1) / alignment * alignment;
  if (text_at > note.size()) return Damaged("its CUDA compatibility note is cut off");
  if (WithoutNuls(note.substr(kHeader, name_size)) != kCompatOwner)
    return std::optional<CompatNote>();
  // Some libraries (of Orin) state more bytes than the section has.
  return ParseCompat(WithoutNuls(note.substr(text_at, text_size)));
}

}  // namespace partita::cdi
