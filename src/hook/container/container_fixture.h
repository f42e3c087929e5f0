// A container's root in a directory of its own, and a host beside it that nobody may touch.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/root_dir.h"

namespace partita::hook {

class ContainerTest : public testing::Test {
 protected:
  ContainerTest() {
    std::string pattern = testing::TempDir() + "/partita-hook-XXXXXX";
    top_ = mkdtemp(pattern.data());
    Make("in");
    Make("host");
    Write("host/secret", "secret");
  }
  void TearDown() override {
    EXPECT_EQ(*base::ListDirectory(Path("host")), (std::vector<std::string>{"secret"}));
    EXPECT_EQ(Read("host/secret"), "secret");
    EXPECT_TRUE(base::RemoveTree(top_).ok());
  }

  [[nodiscard]] std::string Path(std::string_view name) const { return base::JoinPath(top_, name); }
  void Make(const std::string& path) { ASSERT_TRUE(base::MakeDirectories(Path(path), 0755).ok()); }
  void MakeParent(const std::string& path) {
    if (path.find('/') != std::string::npos) Make(path.substr(0, path.rfind('/')));
  }
  // Makes its directory too.
  void Write(const std::string& path, std::string_view bytes) {
    MakeParent(path);
    ASSERT_TRUE(base::WriteFile(Path(path), bytes, 0644).ok());
  }
  void Link(const std::string& target, const std::string& path) {
    MakeParent(path);
    ASSERT_EQ(symlink(target.c_str(), Path(path).c_str()), 0);
  }
  [[nodiscard]] std::string Read(std::string_view path) const {
    const base::Result<std::string> bytes = base::ReadFile(Path(path));
    return bytes.ok() ? *bytes : "(absent)";
  }
  [[nodiscard]] std::string LinkText(std::string_view path) const {
    const base::Result<std::string> text = base::ReadLink(Path(path));
    return text.ok() ? *text : "(none)";
  }
  [[nodiscard]] base::RootDir Root() const { return *base::RootDir::Open(Path("in")); }

  std::string top_;
};

template <typename T>
std::string Told(const base::Result<T>& result) {
  return result.ok() ? "(no error)" : result.error().ToString();
}

}  // namespace partita::hook
