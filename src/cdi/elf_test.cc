#include "cdi/elf.h"

#include <elf.h>

#include <gtest/gtest.h>

namespace partita::cdi {
namespace {

// A small shared object, built field by field.
struct Image {
  bool wide = true;
  bool big = false;
  bool segments = true;  // program headers
  bool sections = true;  // section headers
  std::vector<std::string> sonames = {"libx.so.1"};
  std::string note_owner = "NVIDIA Corporation";
  std::string note =
      R"({"Format": 1, "CUDA Version": "13.1", "Driver": [535, 550], "Device": [1]})";
  std::uint64_t note_alignment = 4;
  std::uint32_t note_excess = 0;    // how much more than there is the note claims
  std::uint16_t more_sections = 0;  // notes without a name of their own

  [[nodiscard]] std::string Build() const;

 private:
  void Put(std::string& out, std::uint64_t number, int bytes) const {
    for (int i = 0; i < bytes; ++i) {
      const int shift = 8 * (big ? bytes - 1 - i : i);
      out += static_cast<char>(number >> shift);
    }
  }
  void Word(std::string& out, std::uint64_t number) const { Put(out, number, wide ? 8 : 4); }
  void Segment(std::string& out, std::uint32_t type, std::uint64_t at, std::uint64_t size) const;
  void Section(std::string& out,
               std::uint32_t name,
               std::uint32_t type,
               std::uint64_t at,
               std::uint64_t size,
               std::uint32_t link,
               std::uint64_t alignment) const;
};

constexpr std::uint64_t kLoadedAt = 0x400000;

void Image::Segment(std::string& out,
                    std::uint32_t type,
                    std::uint64_t at,
                    std::uint64_t size) const {
  Put(out, type, 4);
  if (wide) Put(out, PF_R, 4);
  for (const std::uint64_t number : {at, kLoadedAt + at, kLoadedAt + at, size, size})
    Word(out, number);
  if (!wide) Put(out, PF_R, 4);
  Word(out, 1);
}

void Image::Section(std::string& out,
                    std::uint32_t name,
                    std::uint32_t type,
                    std::uint64_t at,
                    std::uint64_t size,
                    std::uint32_t link,
                    std::uint64_t alignment) const {
  Put(out, name, 4);
  Put(out, type, 4);
  for (const std::uint64_t number : {std::uint64_t{0}, kLoadedAt + at, at, size}) Word(out, number);
  Put(out, link, 4);
  Put(out, 0, 4);
  Word(out, alignment);
  Word(out, 0);
}

std::string Image::Build() const {
  const std::string names("\0.note.cuda.fwd_compatibility\0.dynamic\0", 39);
  std::string strings(1, '\0');
  std::string dynamic;
  const std::uint64_t strings_at = 128;
  std::string body;
  for (const std::string& soname : sonames) {
    Word(dynamic, DT_SONAME);
    Word(dynamic, strings.size());
    strings += soname + '\0';
  }
  Word(dynamic, DT_STRTAB);
  Word(dynamic, kLoadedAt + strings_at);
  Word(dynamic, DT_STRSZ);
  Word(dynamic, strings.size());
  Word(dynamic, DT_NULL);
  Word(dynamic, 0);

  std::string compat;
  Put(compat, note_owner.size() + 1, 4);
  Put(compat, note.size() + note_excess, 4);
  Put(compat, 1, 4);
  compat += note_owner + '\0';
  // Aligned from the name on, as NVIDIA's are.
  while ((compat.size() - 12) % note_alignment != 0) compat += '\0';
  compat += note;

  const std::uint64_t dynamic_at = strings_at + strings.size();
  const std::uint64_t note_at = dynamic_at + dynamic.size();
  const std::uint64_t names_at = note_at + compat.size();
  const std::uint64_t segments_at = names_at + names.size();
  std::string programs;
  if (segments) {
    Segment(programs, PT_LOAD, 0, segments_at);
    Segment(programs, PT_DYNAMIC, dynamic_at, dynamic.size());
  }
  const std::uint64_t sections_at = segments_at + programs.size();
  std::string table;
  if (sections) {
    Section(table, 0, SHT_NULL, 0, 0, 0, 0);
    Section(table, 0, SHT_STRTAB, strings_at, strings.size(), 0, 1);
    if (!sonames.empty()) Section(table, 30, SHT_DYNAMIC, dynamic_at, dynamic.size(), 1, 8);
    for (int i = 0; i < more_sections; ++i) Section(table, 2, SHT_NOTE, 0, 64, 0, 4);
    Section(table, 1, SHT_NOTE, note_at, compat.size(), 0, note_alignment);
    Section(table, 0, SHT_STRTAB, names_at, names.size(), 0, 1);
  }
  const auto section_count = static_cast<std::uint16_t>((sonames.empty() ? 4 : 5) + more_sections);

  std::string out =
      "\x7f"
      "ELF";
  out += static_cast<char>(wide ? ELFCLASS64 : ELFCLASS32);
  out += static_cast<char>(big ? ELFDATA2MSB : ELFDATA2LSB);
  out += static_cast<char>(EV_CURRENT);
  out.resize(16);
  Put(out, ET_DYN, 2);
  Put(out, wide ? EM_X86_64 : EM_386, 2);
  Put(out, EV_CURRENT, 4);
  Word(out, 0);
  Word(out, segments ? segments_at : 0);
  Word(out, sections ? sections_at : 0);
  Put(out, 0, 4);
  Put(out, wide ? 64 : 52, 2);
  Put(out, wide ? 56 : 32, 2);
  Put(out, segments ? 2 : 0, 2);
  Put(out, wide ? 64 : 40, 2);
  Put(out, sections ? section_count : 0, 2);
  Put(out, sections ? section_count - 1 : 0, 2);
  out.resize(strings_at);
  return out + strings + dynamic + compat + names + programs + table;
}

const std::vector<std::string> kOne = {"libx.so.1"};

template <typename T>
std::string Told(const base::Result<T>& result) {
  return result.ok() ? "(no error)" : result.error().ToString();
}

TEST(CdiElf, ReadsTheSonameOfEveryKindOfFile) {
  for (const bool wide : {true, false}) {
    for (const bool big : {true, false}) {
      Image image;
      image.wide = wide;
      image.big = big;
      EXPECT_EQ(ReadSonames(image.Build()).value(), kOne) << wide << big;
      image.sections = false;
      EXPECT_EQ(ReadSonames(image.Build()).value(), kOne) << wide << big;
      image.sections = true;
      image.segments = false;
      EXPECT_EQ(ReadSonames(image.Build()).value(), kOne) << wide << big;
    }
  }
}

TEST(CdiElf, ReadsAllSonamesOrNone) {
  Image two;
  two.sonames = {"a.so.1", "b.so.2"};
  EXPECT_EQ(ReadSonames(two.Build()).value(), two.sonames);
  Image none;
  none.segments = false;
  none.sonames.clear();
  EXPECT_TRUE(ReadSonames(none.Build()).value().empty());
  none.sections = false;
  EXPECT_TRUE(ReadSonames(none.Build()).value().empty());
}

TEST(CdiElf, RefusesWhatIsNoElfFile) {
  EXPECT_EQ(ReadSonames("").error().message(), "not an ELF file");
  EXPECT_EQ(ReadSonames("#!/bin/sh\n").error().message(), "not an ELF file");
  EXPECT_EQ(ReadCompatNote("\x7f"
                           "ELF")
                .error()
                .message(),
            "a damaged ELF file: it ends within its header");
  std::string odd = Image{}.Build();
  odd[EI_CLASS] = 3;
  EXPECT_EQ(ReadSonames(odd).error().message(), "a damaged ELF file: its class is unknown");
}

// Whatever is cut off, the answer is the whole file's or an error.
TEST(CdiElf, EveryTruncationIsHarmless) {
  for (const bool wide : {true, false}) {
    for (const bool segments : {true, false}) {
      Image image;
      image.wide = wide;
      image.segments = segments;
      const std::string whole = image.Build();
      const auto note = ReadCompatNote(whole);
      ASSERT_TRUE(note.ok() && *note);
      for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::string_view part = std::string_view(whole).substr(0, size);
        const auto sonames = ReadSonames(part);
        EXPECT_TRUE(!sonames.ok() || *sonames == kOne) << size;
        const auto part_note = ReadCompatNote(part);
        EXPECT_TRUE(!part_note.ok() || *part_note == *note) << size;
      }
    }
  }
}

TEST(CdiElf, EveryByteMayBeWrong) {
  for (const bool wide : {true, false}) {
    Image image;
    image.wide = wide;
    const std::string whole = image.Build();
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const char byte : {'\0', '\x7f', '\xff'}) {
        std::string spoilt = whole;
        spoilt[at] = byte;
        static_cast<void>(ReadSonames(spoilt).ok());
        static_cast<void>(ReadCompatNote(spoilt).ok());
      }
    }
  }
}

TEST(CdiElf, ReadsTheNoteOfACompatLibrary) {
  for (const std::uint64_t alignment : {4U, 8U}) {
    Image image;
    image.note_alignment = alignment;
    const auto note = ReadCompatNote(image.Build());
    ASSERT_TRUE(note.ok()) << note.error().ToString();
    ASSERT_TRUE(note->has_value());
    EXPECT_EQ(**note, (CompatNote{"13.1", {535, 550}}));
  }
}

TEST(CdiElf, ReadsANoteThatClaimsMoreThanThereIs) {
  Image image;
  image.note += std::string(3, '\0');
  image.note_excess = 5;
  EXPECT_EQ(**ReadCompatNote(image.Build()), (CompatNote{"13.1", {535, 550}}));
}

TEST(CdiElf, FindsNoNoteWhereThereIsNone) {
  Image other;
  other.note_owner = "Somebody Else";
  EXPECT_FALSE(ReadCompatNote(other.Build()).value().has_value());
  Image bare;
  bare.sections = false;
  EXPECT_FALSE(ReadCompatNote(bare.Build()).value().has_value());
  Image plain;
  plain.note = "{}";
  EXPECT_EQ(**ReadCompatNote(plain.Build()), CompatNote{});
}

TEST(CdiElf, RefusesANoteThatSaysNothing) {
  for (const char* text : {"", "[", "{\"Driver\": 535}", "{\"Driver\": [\"535\"]}",
                           "{\"Driver\": [4294967296]}", "{\"Driver\": [-1]}"}) {
    Image image;
    image.note = text;
    EXPECT_FALSE(ReadCompatNote(image.Build()).ok()) << text;
  }
}

// What an image may have for a library: every table and name as large as it likes.
TEST(CdiElf, ManySectionsAreRefused) {
  Image image;
  image.more_sections = 20000;
  EXPECT_EQ(Told(ReadCompatNote(image.Build())),
            "a damaged ELF file: a table has more than 1048576 bytes");
  image.segments = false;
  EXPECT_EQ(Told(ReadSonames(image.Build())),
            "a damaged ELF file: a table has more than 1048576 bytes");
  image.more_sections = 10000;
  EXPECT_TRUE(ReadCompatNote(image.Build()).value().has_value());
}

TEST(CdiElf, ALongNoteIsRefused) {
  Image image;
  image.note = R"({"Driver":[0)";
  for (int i = 0; i < 40000; ++i) image.note += ",0";
  image.note += "]}";
  EXPECT_EQ(Told(ReadCompatNote(image.Build())),
            "a damaged ELF file: its CUDA compatibility note has more than 65536 bytes");
}

TEST(CdiElf, ManyAndLongSonamesAreRefused) {
  Image image;
  image.sonames = {std::string(255, 'x')};
  EXPECT_EQ(ReadSonames(image.Build()).value(), image.sonames);
  image.sonames = {std::string(256, 'x')};
  EXPECT_EQ(Told(ReadSonames(image.Build())),
            "a damaged ELF file: its SONAME has more than 255 bytes");
  image.sonames.assign(17, "libx.so.1");
  EXPECT_EQ(Told(ReadSonames(image.Build())), "a damaged ELF file: it has more than 16 SONAMEs");
}

}  // namespace
}  // namespace partita::cdi
