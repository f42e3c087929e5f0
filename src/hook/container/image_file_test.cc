#include "hook/container/image_file.h"

#include <sys/stat.h>

#include <array>

#include "hook/container/container_fixture.h"

namespace partita::hook {
namespace {

using ImageFileTest = ContainerTest;

TEST_F(ImageFileTest, ReadsPiecesUpToTheEnd) {
  Write("in/lib", "0123456789");
  const auto file = ImageFile::Open(Root(), "/lib");
  ASSERT_TRUE(file.ok()) << Told(file);
  std::array<char, 4> piece{};
  EXPECT_TRUE(file->Read(6, piece));
  EXPECT_EQ(std::string_view(piece.data(), piece.size()), "6789");
  EXPECT_FALSE(file->Read(7, piece));
  EXPECT_FALSE(file->Read(UINT64_MAX - 1, piece));
}

// A mapping of it would end the process.
TEST_F(ImageFileTest, AFileThatIsCutIsOnlyShorter) {
  Write("in/lib", std::string(65536, 'x'));
  const auto file = ImageFile::Open(Root(), "/lib");
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(truncate(Path("in/lib").c_str(), 100), 0);
  std::array<char, 4> piece{};
  EXPECT_FALSE(file->Read(60000, piece));
  EXPECT_TRUE(file->Read(0, piece));
}

TEST_F(ImageFileTest, OnlyRegularFiles) {
  ASSERT_EQ(mkfifo(Path("in/fifo").c_str(), 0644), 0);
  EXPECT_EQ(Told(ImageFile::Open(Root(), "/fifo")),
            "/fifo in " + Path("in") + " is no regular file");
  EXPECT_EQ(Told(ImageFile::Open(Root(), "/")), "/ in " + Path("in") + " is no regular file");
}

}  // namespace
}  // namespace partita::hook
