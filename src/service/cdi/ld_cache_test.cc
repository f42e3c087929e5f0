#include "service/cdi/ld_cache.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "service/cdi/testing/driver_tree.h"

namespace partita::service::cdi {
namespace {

const std::vector<CachedLibrary> kLibraries = {
    {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", true},
    {"libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1", false},
    {"libnvidia-ml.so.1", "/lib/libnvidia-ml.so.1", true},
};

TEST(LdCache, ListsLibrariesWithTheirPlaces) {
  const auto read = ParseLdCache(testing::LdCache(kLibraries));
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(*read, kLibraries);
}

TEST(LdCache, ReadsDebians) {
  const base::Result<std::string> bytes = base::ReadFile("/etc/ld.so.cache");
  if (!bytes.ok()) GTEST_SKIP() << "this machine has no /etc/ld.so.cache";
  const auto read = ParseLdCache(*bytes);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  const bool libc = std::any_of(read->begin(), read->end(), [](const CachedLibrary& library) {
    return library.name == "libc.so.6" && library.elf64;
  });
  EXPECT_TRUE(libc);
}

// With one entry before it, so that the padding counts.
std::string OldThenNew() {
  std::string old("ld.so-1.7.0\0\x01\0\0\0", 16);
  old.resize(16 + 12 + 4, '\0');
  return old + testing::LdCache(kLibraries);
}

TEST(LdCache, OldHeaderThenNew) {
  const auto read = ParseLdCache(OldThenNew());
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(*read, kLibraries);
}

TEST(LdCache, EveryTruncationIsAnError) {
  for (const std::string& whole : {testing::LdCache(kLibraries), OldThenNew()}) {
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_FALSE(ParseLdCache(std::string_view(whole).substr(0, size)).ok()) << size;
  }
}

TEST(LdCache, SaysWhatIsWrong) {
  std::string bytes = testing::LdCache(kLibraries);
  EXPECT_EQ(ParseLdCache("words").error().ToString(),
            "not a cache of the loader: its first bytes are others");
  std::string far = bytes;
  far[48 + 4 + 3] = '\x7f';  // the first entry's name
  EXPECT_EQ(ParseLdCache(far).error().ToString(),
            "not a cache of the loader: a name lies outside of the file");
  std::string many = bytes;
  many[20 + 3] = '\x7f';
  EXPECT_EQ(ParseLdCache(many).error().ToString(), "not a cache of the loader: it ends too early");
  bytes[28] = 3;
  EXPECT_EQ(ParseLdCache(bytes).error().ToString(),
            "not a cache of the loader: it was written for another machine");
}

TEST(LdCache, LeavesOutWhatIsNotForThisMachine) {
  std::string bytes = testing::LdCache(kLibraries);
  bytes[48 + 1] = 0x05;  // powerpc
  bytes[48 + 24] = 0;    // no ELF
  const auto read = ParseLdCache(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, std::vector<CachedLibrary>{kLibraries[2]});
}

}  // namespace
}  // namespace partita::service::cdi
