// Every file of tests/data/engine-config: configured, configured again, taken back.
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "service/toolkit/configure.h"

namespace partita::service::toolkit {
namespace {

std::vector<std::string> Corpus() { return base::ListDirectory(PARTITA_ENGINE_CONFIGS).value(); }

// Everything below a directory, by path.
std::map<std::string, std::string> Snapshot(const std::string& directory) {
  std::map<std::string, std::string> files;
  const std::vector<std::string> names = base::ListDirectory(directory).value();
  for (const std::string& name : names) {
    const std::string path = base::JoinPath(directory, name);
    if (const base::Result<std::string> text = base::ReadFile(path); text.ok()) {
      files.emplace(path, *text);
    } else {
      files.merge(Snapshot(path));
    }
  }
  return files;
}

class EngineCorpus : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "partita-corpus.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    ASSERT_TRUE(base::MakeDirectories(root_ + "/etc/conf.d", 0755).ok());
  }
  void TearDown() override { EXPECT_TRUE(base::RemoveTree(root_).ok()); }

  base::Result<std::size_t> Configure(Engine engine, const ConfigureOrder& order) {
    TRY(plan, PlanEngine(engine, order, root_ + "/state"));
    TRY(done, CarryOut(plan.changes, order, root_ + "/state"));
    return done.size();
  }

  std::string root_;
};

TEST_P(EngineCorpus, IsByteForByteTheSameAfterUndo) {
  const std::string& file = GetParam();
  const std::string name = file.substr(0, file.find('-'));
  const Engine engine = ParseEngine(name).value();
  const std::string text = base::ReadFile(std::string(PARTITA_ENGINE_CONFIGS) + "/" + file).value();
  for (const bool everything : {false, true}) {
    ConfigureOrder order = {.runtime_path = "/usr/bin/nvidia-container-runtime",
                            .config = root_ + "/etc/config"};
    if (engine == Engine::kContainerd) order.drop_in = root_ + "/etc/conf.d/99-nvidia.toml";
    if (engine != Engine::kPodman) order.set_as_default = order.enable_cdi = everything;
    ASSERT_TRUE(base::WriteFile(order.config, text, 0644).ok());
    const auto before = Snapshot(root_ + "/etc");

    const base::Result<std::size_t> once = Configure(engine, order);
    ASSERT_TRUE(once.ok()) << once.error().ToString();
    const auto after = Snapshot(root_ + "/etc");
    const base::Result<std::size_t> again = Configure(engine, order);
    ASSERT_TRUE(again.ok()) << again.error().ToString();
    EXPECT_EQ(*again, 0U);
    EXPECT_EQ(Snapshot(root_ + "/etc"), after);

    order.undo = true;
    const base::Result<std::size_t> undone = Configure(engine, order);
    ASSERT_TRUE(undone.ok()) << undone.error().ToString();
    EXPECT_EQ(Snapshot(root_ + "/etc"), before);
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         EngineCorpus,
                         testing::ValuesIn(Corpus()),
                         [](const testing::TestParamInfo<std::string>& file) {
                           std::string name = file.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

TEST(EngineCorpusSize, IsWhatWasPromised) { EXPECT_GE(Corpus().size(), 25U); }

}  // namespace
}  // namespace partita::service::toolkit
