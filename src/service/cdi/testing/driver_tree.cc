#include "service/cdi/testing/driver_tree.h"

#include <sys/stat.h>

#include <cstdint>

#include "base/files.h"
#include "base/result.h"

namespace partita::service::cdi::testing {

namespace {

void PutNumber(std::string& bytes, std::uint64_t number, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

constexpr std::uint64_t kHeader = 64, kProgramHeader = 56, kDynamicEntry = 16;

void PutProgramHeader(std::string& bytes,
                      std::uint32_t type,
                      std::uint64_t at,
                      std::uint64_t size) {
  PutNumber(bytes, type, 4);
  PutNumber(bytes, 4, 4);  // readable
  for (int i = 0; i < 3; ++i) PutNumber(bytes, at, 8);
  PutNumber(bytes, size, 8);
  PutNumber(bytes, size, 8);
  PutNumber(bytes, 8, 8);
}

}  // namespace

std::string SharedObject(std::string_view soname) {
  const std::uint64_t dynamic = kHeader + 2 * kProgramHeader;
  const std::uint64_t entries = soname.empty() ? 3 : 4;
  const std::uint64_t texts = dynamic + entries * kDynamicEntry;
  const std::uint64_t end = texts + soname.size() + 2;
  std::string bytes(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  bytes.resize(16, '\0');
  PutNumber(bytes, 3, 2);   // a shared object…
  PutNumber(bytes, 62, 2);  // …of x86-64
  PutNumber(bytes, 1, 4);
  PutNumber(bytes, 0, 8);
  PutNumber(bytes, kHeader, 8);  // program headers
  PutNumber(bytes, 0, 8);
  PutNumber(bytes, 0, 4);
  PutNumber(bytes, kHeader, 2);
  PutNumber(bytes, kProgramHeader, 2);
  PutNumber(bytes, 2, 2);
  PutNumber(bytes, 64, 2);
  PutNumber(bytes, 0, 4);
  PutProgramHeader(bytes, 1, 0, end);                            // PT_LOAD
  PutProgramHeader(bytes, 2, dynamic, entries * kDynamicEntry);  // PT_DYNAMIC
  const auto entry = [&](std::uint64_t tag, std::uint64_t value) {
    PutNumber(bytes, tag, 8);
    PutNumber(bytes, value, 8);
  };
  entry(5, texts);                    // DT_STRTAB
  entry(10, soname.size() + 2);       // DT_STRSZ
  if (!soname.empty()) entry(14, 1);  // DT_SONAME
  entry(0, 0);
  bytes += '\0';
  bytes.append(soname);
  bytes += '\0';
  return bytes;
}

std::string LdCache(const std::vector<CachedLibrary>& libraries) {
  constexpr std::uint64_t kCacheHeader = 48, kEntry = 24;
  std::string texts, entries;
  const std::uint64_t first = kCacheHeader + libraries.size() * kEntry;
  const auto put_text = [&](const std::string& text) {
    PutNumber(entries, first + texts.size(), 4);
    texts += text;
    texts += '\0';
  };
  for (const CachedLibrary& library : libraries) {
    PutNumber(entries, library.elf64 ? 0x0303 : 0x0003, 4);
    put_text(library.name);
    put_text(library.path);
    PutNumber(entries, 0, 4);
    PutNumber(entries, 0, 8);
  }
  std::string bytes = "glibc-ld.so.cache1.1";
  PutNumber(bytes, libraries.size(), 4);
  PutNumber(bytes, texts.size(), 4);
  PutNumber(bytes, 2, 4);  // little-endian
  bytes.resize(kCacheHeader, '\0');
  return bytes + entries + texts;
}

DriverRoot DriverTree::Open(const std::string& on_host) const {
  base::Result<DriverRoot> driver = DriverRoot::Open(root(), on_host);
  PARTITA_CHECK(driver.ok());
  return *std::move(driver);
}

void DriverTree::Program(const std::string& path) const {
  File(path, "#!/bin/sh\n");
  PARTITA_CHECK(chmod(base::JoinPath(root(), path).c_str(), 0755) == 0);
}

void DriverTree::Folder(const std::string& path) const {
  PARTITA_CHECK(base::MakeDirectories(base::JoinPath(root(), path), 0755).ok());
}

void DriverTree::Library(const std::string& path,
                         std::string_view soname,
                         const std::vector<std::string>& links) const {
  File(path, SharedObject(soname));
  for (const std::string& link : links)
    Link(base::JoinPath(FolderOf(path), link), std::string(NameOf(path)));
}

void MakeSmallDriver(const DriverTree& tree,
                     const std::string& folder,
                     const std::string& version) {
  tree.Library(folder + "/libcuda.so." + version, "libcuda.so.1", {"libcuda.so.1", "libcuda.so"});
  tree.Library(folder + "/libnvidia-ml.so." + version, "libnvidia-ml.so.1", {"libnvidia-ml.so.1"});
  tree.Program("/usr/bin/nvidia-smi");
}

}  // namespace partita::service::cdi::testing
