#include "agent/cdi_reach.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/files.h"
#include "net/rpc/server.h"
#include "net/rpc/wire.h"
#include "service/ledger/testing/scratch.h"

namespace partita::agent {
namespace {

using net::rpc::WireWriter;

class CdiReachTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) { return base::JoinPath(scratch_.path(), name); }
  // An engine of that name; it shows its configuration where one is given.
  void Serve(const std::string& name, const std::string& version, const std::string& config) {
    auto server = std::make_unique<net::rpc::Server>(*loop_, name);
    server->OnCall(std::string(service::device_plugin::kEngineVersion),
                   [=](const std::shared_ptr<net::rpc::Call>& call) {
                     call->Finish(WireWriter().Text(2, name).Text(3, version).Take());
                   });
    server->OnCall(std::string(service::device_plugin::kEngineStatus),
                   [=](const std::shared_ptr<net::rpc::Call>& call) {
                     call->Finish(WireWriter().Entry(2, "config", config).Take());
                   });
    ASSERT_TRUE(server->Listen(Path(name)).ok());
    servers_.push_back(std::move(server));
  }
  void Look(const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    paths.reserve(names.size());
    for (const std::string& name : names) paths.push_back(Path(name));
    // Without any socket it has looked before the loop runs.
    loop_->Post([this, paths] { reach_.Start(paths); });
    loop_->Run();
    EXPECT_TRUE(reach_.looked());
    reach_.Stop();
  }

  service::ledger::testing::Scratch scratch_;
  std::unique_ptr<net::Loop> loop_ = net::NewLoop();
  base::Log log_{loop_->clock(), [](std::string_view) {}};
  KubeletWatch kubelet_{*loop_, log_};
  std::vector<std::unique_ptr<net::rpc::Server>> servers_;
  CdiReach reach_{*loop_, log_, kubelet_, [this] { loop_->Stop(); }};
};

TEST_F(CdiReachTest, TheEngineIsAskedWhoItIs) {
  Serve("containerd", "1.7.3", R"({"enableCDI": true})");
  Look({"nobody", "containerd"});
  EXPECT_EQ(reach_.disabled(), "");
  EXPECT_EQ(reach_.State(),
            base::Value::Map().Set("name", "containerd").Set("version", "1.7.3").Set("cdi", true));
}

TEST_F(CdiReachTest, OneThatIsTooOldIsNamed) {
  Serve("cri-o", "1.26.1", "[crio]");
  Look({"cri-o"});
  EXPECT_TRUE(reach_.disabled().starts_with("CdiDisabled: CRI-O 1.26.1 ")) << reach_.disabled();
}

TEST_F(CdiReachTest, TwoThatAnswerAreAsGoodAsNone) {
  Serve("containerd", "1.6.0", "{}");
  Serve("cri-o", "1.20.0", "");
  Look({"containerd", "cri-o"});
  EXPECT_EQ(reach_.disabled(), "");
  EXPECT_EQ(reach_.State(), base::Value());
}

TEST_F(CdiReachTest, OneThatServesNoKubeletIsPassedOver) {
  servers_.push_back(std::make_unique<net::rpc::Server>(*loop_, "docker"));
  ASSERT_TRUE(servers_.back()->Listen(Path("docker")).ok());
  Serve("containerd", "1.6.0", "{}");
  std::ofstream(Path("no-socket")) << "a file";
  Look({"docker", "no-socket", "containerd"});
  EXPECT_NE(reach_.disabled(), "");
}

TEST_F(CdiReachTest, WhereThereIsNoneNothingIsKnown) {
  Look({"nobody"});
  EXPECT_EQ(reach_.disabled(), "");
  EXPECT_EQ(reach_.State(), base::Value());
}

}  // namespace
}  // namespace partita::agent
