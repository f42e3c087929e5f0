#include "sim/tool/inert_library.h"

#include <elf.h>

#include <cstddef>
#include <cstring>

namespace partita::sim::tool {
namespace {

// The file in order. One writable segment holds it all: the loader relocates the dynamic section in
// place.
struct Image {
  Elf64_Ehdr header;
  Elf64_Phdr load, dynamic_header, stack;
  // The loader needs no sections; Go's ELF reader, and so nvidia-ctk, finds the SONAME by them.
  Elf64_Shdr no_section, dynamic_section, string_section;
  Elf64_Dyn dynamic[6];
  Elf64_Sym symbols[1];
  Elf32_Word hash[4];  // one bucket, one (null) symbol
  // the string table follows: "\0<soname>\0.dynamic\0.dynstr\0"
};

Elf64_Phdr Segment(Elf64_Word type, Elf64_Word flags, Elf64_Xword offset, Elf64_Xword size) {
  Elf64_Phdr segment{};
  segment.p_type = type;
  segment.p_flags = flags;
  segment.p_offset = segment.p_vaddr = segment.p_paddr = offset;
  segment.p_filesz = segment.p_memsz = size;
  segment.p_align = type == PT_LOAD ? 0x1000 : 8;
  return segment;
}

Elf64_Shdr Section(std::size_t name, Elf64_Word type, Elf64_Xword offset, Elf64_Xword size) {
  Elf64_Shdr section{};
  section.sh_name = static_cast<Elf64_Word>(name);
  section.sh_type = type;
  section.sh_flags = SHF_ALLOC;
  section.sh_offset = section.sh_addr = offset;
  section.sh_size = size;
  section.sh_addralign = 1;
  return section;
}

Elf64_Dyn Entry(Elf64_Sxword tag, Elf64_Xword value) {
  Elf64_Dyn entry{};
  entry.d_tag = tag;
  entry.d_un.d_val = value;
  return entry;
}

Elf64_Ehdr Header() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
#if defined(__aarch64__)
  header.e_machine = EM_AARCH64;
#else
  header.e_machine = EM_X86_64;
#endif
  header.e_version = EV_CURRENT;
  header.e_phoff = offsetof(Image, load);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  header.e_shoff = offsetof(Image, no_section);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  return header;
}

}  // namespace

std::string InertLibrary(std::string_view soname) {
  const std::string head = '\0' + std::string(soname) + '\0';
  const std::string strings = head + ".dynamic" + '\0' + ".dynstr" + '\0';
  const std::size_t size = sizeof(Image) + strings.size();
  Image image{};
  image.header = Header();
  image.load = Segment(PT_LOAD, PF_R | PF_W, 0, size);
  image.dynamic_header =
      Segment(PT_DYNAMIC, PF_R | PF_W, offsetof(Image, dynamic), sizeof image.dynamic);
  image.stack = Segment(PT_GNU_STACK, PF_R | PF_W, 0, 0);
  image.dynamic_section =
      Section(head.size(), SHT_DYNAMIC, offsetof(Image, dynamic), sizeof image.dynamic);
  image.dynamic_section.sh_link = 2;
  image.dynamic_section.sh_entsize = sizeof(Elf64_Dyn);
  image.dynamic_section.sh_addralign = 8;
  image.string_section =
      Section(head.size() + sizeof ".dynamic", SHT_STRTAB, sizeof(Image), strings.size());
  image.dynamic[0] = Entry(DT_SONAME, 1);
  image.dynamic[1] = Entry(DT_HASH, offsetof(Image, hash));
  image.dynamic[2] = Entry(DT_STRTAB, sizeof(Image));
  image.dynamic[3] = Entry(DT_SYMTAB, offsetof(Image, symbols));
  image.dynamic[4] = Entry(DT_STRSZ, strings.size());
  image.dynamic[5] = Entry(DT_NULL, 0);
  image.hash[0] = image.hash[1] = 1;
  std::string bytes(reinterpret_cast<const char*>(&image), sizeof image);
  return bytes + strings;
}

}  // namespace partita::sim::tool
