#include "service/toolkit/configure.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::service::toolkit {
namespace {

class ConfigureTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "partita-configure.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    order_ = {.runtime_path = "/usr/bin/nvidia-container-runtime",
              .config = root_ + "/etc/daemon.json"};
    ASSERT_TRUE(base::MakeDirectories(root_ + "/etc", 0755).ok());
  }
  void TearDown() override { EXPECT_TRUE(base::RemoveTree(root_).ok()); }

  void Write(const std::string& text, mode_t mode = 0644) {
    ASSERT_TRUE(base::WriteFile(order_.config, text, mode).ok());
  }
  std::string Read(const std::string& path) { return base::ReadFile(path).value(); }
  std::vector<std::string> Names() { return *base::ListDirectory(root_ + "/etc"); }

  base::Result<std::vector<Carried>> Configure(bool undo = false) {
    order_.undo = undo;
    TRY(plan, PlanEngine(Engine::kDocker, order_, State()));
    notes_ = plan.notes;
    return CarryOut(plan.changes, order_, State());
  }
  std::string State() { return root_ + "/state"; }

  std::string root_;
  ConfigureOrder order_;
  std::vector<std::string> notes_;
};

TEST_F(ConfigureTest, UndoBringsEveryByteBack) {
  Write("{ }", 0640);
  const auto done = Configure();
  ASSERT_TRUE(done.ok()) << done.error().ToString();
  ASSERT_EQ(done->size(), 1U);
  EXPECT_EQ((*done)[0].backup, order_.config + ".bak-1");
  EXPECT_EQ(Read(order_.config + ".bak-1"), "{ }");
  struct stat about = {};
  ASSERT_EQ(stat(order_.config.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0640U);
  ASSERT_EQ(stat((order_.config + ".bak-1").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0640U);
  ASSERT_TRUE(Configure(true).ok());
  EXPECT_EQ(Read(order_.config), "{ }");
  EXPECT_EQ(Names(), std::vector<std::string>{"daemon.json"});
  EXPECT_TRUE(Configure(true)->empty());
}

TEST_F(ConfigureTest, AFileThatWasNotThereIsGoneAgain) {
  ASSERT_TRUE(Configure().ok());
  EXPECT_EQ(Names(), std::vector<std::string>{"daemon.json"});
  ASSERT_TRUE(Configure(true).ok());
  EXPECT_TRUE(Names().empty());
}

TEST_F(ConfigureTest, SecondOrderKeepsTheFirstBackup) {
  Write("{}\n");
  ASSERT_TRUE(Configure().ok());
  order_.set_as_default = true;
  ASSERT_TRUE(Configure().ok());
  EXPECT_EQ(Names(), (std::vector<std::string>{"daemon.json", "daemon.json.bak-1"}));
  ASSERT_TRUE(Configure(true).ok());
  EXPECT_EQ(Read(order_.config), "{}\n");
}

TEST_F(ConfigureTest, WhatWasEditedSinceIsKept) {
  Write("{}\n");
  ASSERT_TRUE(Configure().ok());
  std::string text = Read(order_.config);
  text.insert(1, "\n    \"debug\": true,");
  Write(text);
  const auto undone = Configure(true);
  ASSERT_TRUE(undone.ok());
  EXPECT_EQ(Read(order_.config), "{\n    \"debug\": true\n}\n");
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_EQ(notes_[0], order_.config +
                           " is not as we left it: only our entries are taken back: "
                           "runtimes.nvidia is gone");
  EXPECT_EQ(Read((*undone)[0].backup), text);
}

TEST_F(ConfigureTest, EditsBetweenTwoOrdersAreKeptToo) {
  Write("{}\n");
  ASSERT_TRUE(Configure().ok());
  std::string text = Read(order_.config);
  text.insert(1, "\n    \"debug\": true,");
  Write(text);
  order_.enable_cdi = true;
  ASSERT_TRUE(Configure().ok());
  ASSERT_TRUE(Configure(true).ok());
  EXPECT_NE(Read(order_.config).find("\"debug\": true"), std::string::npos);
  EXPECT_EQ(Read(order_.config).find("nvidia"), std::string::npos);
}

// By key, also where edits lie between two orders: from version 2 on and in version 1.
TEST_F(ConfigureTest, EveryKeyComesBackAfterEdits) {
  order_.drop_in = root_ + "/etc/conf.d/99-nvidia.toml";
  order_.set_as_default = order_.enable_cdi = true;
  for (const char* text : {"", "version = 3\n", "[plugins.cri]\n  x = 1\n", "# mine\n"}) {
    Write(text);
    for (int times = 0; times < 2; ++times) {
      order_.undo = false;
      const auto plan = PlanEngine(Engine::kContainerd, order_, State());
      ASSERT_TRUE(plan.ok()) << plan.error().ToString();
      ASSERT_TRUE(CarryOut(plan->changes, order_, State()).ok());
      Write(Read(order_.config) + "# note\n");
      order_.runtime_path += "-other";
    }
    order_.undo = true;
    const auto plan = PlanEngine(Engine::kContainerd, order_, State());
    ASSERT_TRUE(plan.ok()) << plan.error().ToString();
    ASSERT_TRUE(CarryOut(plan->changes, order_, State()).ok());
    EXPECT_EQ(Read(order_.config), std::string(text) + "# note\n# note\n");
    EXPECT_FALSE(base::Exists(order_.drop_in));
  }
}

TEST_F(ConfigureTest, ABackupPutBackByHandCounts) {
  Write("{ }");
  ASSERT_TRUE(Configure().ok());
  Write("{ }");
  ASSERT_TRUE(Configure().ok());
  ASSERT_TRUE(Configure(true).ok());
  EXPECT_EQ(Read(order_.config), "{ }");
}

TEST_F(ConfigureTest, WhatWeDidNotWriteStays) {
  const std::string text = "{\"runtimes\": {\"nvidia\": {\"path\": \"x\"}}}";
  Write(text);
  const auto undone = Configure(true);
  ASSERT_TRUE(undone.ok());
  EXPECT_TRUE(undone->empty());
  EXPECT_EQ(Read(order_.config), text);
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_EQ(notes_[0], order_.config + " was not written by this command: it stays as it is");
}

TEST_F(ConfigureTest, ALinkStaysALink) {
  ASSERT_TRUE(base::WriteFile(root_ + "/real.json", "{}\n", 0644).ok());
  ASSERT_EQ(symlink((root_ + "/real.json").c_str(), order_.config.c_str()), 0);
  ASSERT_TRUE(Configure().ok());
  EXPECT_EQ(base::ReadLink(order_.config).value(), root_ + "/real.json");
  EXPECT_NE(Read(root_ + "/real.json").find("nvidia"), std::string::npos);
  ASSERT_TRUE(Configure(true).ok());
  EXPECT_EQ(Read(root_ + "/real.json"), "{}\n");
}

TEST_F(ConfigureTest, AFileChangedMeanwhileIsAConflict) {
  Write("{}\n");
  const auto plan = PlanEngine(Engine::kDocker, order_, State());
  ASSERT_TRUE(plan.ok());
  Write("{\"debug\": true}\n");
  const auto done = CarryOut(plan->changes, order_, State());
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code(), base::ErrorCode::kConflict);
  EXPECT_EQ(Read(order_.config), "{\"debug\": true}\n");
  EXPECT_EQ(Names(), std::vector<std::string>{"daemon.json"});
}

TEST_F(ConfigureTest, AllOrNothing) {
  Write("{}\n");
  // The second file cannot be made: nobody makes folders there.
  const std::vector<FileChange> changes = {
      {order_.config, "{}\n", "{\"a\": 1}\n"},
      {"/proc/partita/below.toml", std::nullopt, "x"},
  };
  const auto done = CarryOut(changes, order_, State());
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(Read(order_.config), "{}\n");
  EXPECT_EQ(Names(), std::vector<std::string>{"daemon.json"});
}

TEST_F(ConfigureTest, AnImportThatIsMissingIsTold) {
  Write("version = 2\nimports = [\"other.toml\", \"x/*.toml\"]\n");
  order_.drop_in = root_ + "/etc/conf.d/99-nvidia.toml";
  const auto plan = PlanEngine(Engine::kContainerd, order_, State());
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  ASSERT_GE(plan->notes.size(), 3U);
  EXPECT_EQ(plan->notes[2], order_.config + " imports " + root_ +
                                "/etc/other.toml, which is not there: containerd reads no import "
                                "behind it, and says nothing");
}

TEST(EngineRows, HooksAreWherePodmanReadsThem) {
  EXPECT_TRUE(RowOf(Engine::kPodman).config.starts_with("/usr/share/containers/oci/hooks.d/"));
}

TEST(ParseEngine, RefusesOthersByName) {
  EXPECT_EQ(ParseEngine("k3s").error().ToString(), "k3s cannot be configured by this version");
  EXPECT_EQ(ParseEngine("k3s").error().code(), base::ErrorCode::kUnsupported);
  EXPECT_EQ(ParseEngine("x").error().ToString(), "no engine \"x\"");
  EXPECT_EQ(ParseEngine("x").error().hint(), "there are: docker, containerd, podman");
}

}  // namespace
}  // namespace partita::service::toolkit
