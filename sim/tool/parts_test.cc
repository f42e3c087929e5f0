#include <dlfcn.h>
#include <stdlib.h>

#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "sim/load/identity.h"
#include "sim/tool/inert_library.h"
#include "sim/tool/table.h"
#include "sim/tool/words.h"

namespace partita::sim::tool {
namespace {

TEST(InertLibrary, IsLoadedUnderItsName) {
  char path[] = "/tmp/partita-inert.XXXXXX";
  const std::string directory = mkdtemp(path);
  const std::string file = directory + "/some-file";
  ASSERT_TRUE(base::WriteFile(file, InertLibrary("libpartita-inert.so.7"), 0755).ok());
  void* library = dlopen(file.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(dlsym(library, "cuInit"), nullptr);
  // Known by its SONAME now, though no such file exists.
  void* again = dlopen("libpartita-inert.so.7", RTLD_NOW | RTLD_NOLOAD);
  EXPECT_EQ(again, library);
  if (again != nullptr) dlclose(again);
  dlclose(library);
  EXPECT_TRUE(base::RemoveTree(directory).ok());
}

TEST(Duration, ReadsSumsOfUnits) {
  const auto ns = [](std::string_view text) {
    const auto duration = ParseDuration(text);
    return duration.ok() ? static_cast<std::int64_t>(*duration) : -1;
  };
  EXPECT_EQ(ns("90s"), 90'000'000'000);
  EXPECT_EQ(ns("1h30m"), 5'400'000'000'000);
  EXPECT_EQ(ns("250ms"), 250'000'000);
  EXPECT_EQ(ns("1d2h3m4s5ms6us7ns"), 93'784'005'006'007);
  EXPECT_EQ(ns("0s"), 0);
  for (const char* bad :
       {"", "10", "s", "-5s", "1.5h", "1 h", "5x", "99999999999999999999s", "36526d", "1h30"}) {
    EXPECT_EQ(ns(bad), -1) << bad;
  }
}

TEST(Words, AreTheSameBothWays) {
  for (const auto words : {ComputeModeWords(), RecoveryActionWords(), PciDriverWords(),
                           TimesliceWords(), HolderKindWords(), NvmlErrorWords()}) {
    for (const Word& word : words) {
      EXPECT_EQ(WordFor(words, word.value), word.text);
      EXPECT_EQ(*ParseWord(words, word.text), word.value);
    }
  }
  EXPECT_EQ(WordFor(ComputeModeWords(), 9), "9");
  const auto unknown = ParseWord(ComputeModeWords(), "prohibted");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message(), "unknown value \"prohibted\"");
  EXPECT_EQ(unknown.error().hint(), "did you mean \"prohibited\"?");
}

TEST(Words, TimesAndSizesAreForPeople) {
  EXPECT_EQ(FormatTime(1'767'225'600'123'000'000), "2026-01-01T00:00:00.123Z");
  EXPECT_EQ(FormatBytes(4'294'967'296), "4.0 GiB");
  EXPECT_EQ(FormatBytes(52'428'800), "50 MiB");
}

TEST(Table, AlignsColumnsAndTrimsLines) {
  EXPECT_EQ(Table({{"A", "BB", "C"}, {"aaa", "b", ""}}), "A    BB  C\naaa  b\n");
}

TEST(Identity, LooksLikeARandomUuidAndIsNone) {
  const std::string uuid = load::DeriveUuid(1, "node", "0000:07:00.0");
  EXPECT_TRUE(load::IsGpuUuid("GPU-" + uuid)) << uuid;
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
  EXPECT_EQ(uuid, load::DeriveUuid(1, "node", "0000:07:00.0"));
  EXPECT_NE(uuid, load::DeriveUuid(2, "node", "0000:07:00.0"));
  EXPECT_NE(uuid, load::DeriveUuid(1, "node0", "000:07:00.0"));
  EXPECT_FALSE(load::IsGpuUuid("GPU-" + uuid + "0"));
  EXPECT_FALSE(load::IsGpuUuid("GPU-D64BEC6D-47c0-9a0b-bb6c-36622f5541d1"));
}

}  // namespace
}  // namespace partita::sim::tool
