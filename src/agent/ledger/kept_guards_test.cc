#include "agent/ledger/kept_guards.h"

#include <gtest/gtest.h>

#include "agent/boot_id.h"
#include "base/files.h"
#include "base/state_file.h"
#include "model/testing/sample_gpus.h"
#include "service/ledger/ledger.h"
#include "service/ledger/testing/scratch.h"

namespace partita::agent {
namespace {

using model::StepKind;
using service::ledger::Ledger;
using service::ledger::WholeGpu;
using service::mig::ChangeGuards;

class KeptGuardsTest : public ::testing::Test {
 protected:
  KeptGuardsTest() {
    for (std::uint32_t i = 0; i < 2; ++i) node_.gpus.push_back(model::testing::A100(i));
  }
  void Given(const WholeGpu& gpu) {
    auto opened = Ledger::Open({scratch_.path()});
    ASSERT_TRUE(opened.ok()) << opened.error().ToString();
    (void)opened->ledger.Settle(node_, *ReadBootId(), std::nullopt, {});
    const service::ledger::Pod pod{"default", "train", "main", "nvidia.com/gpu"};
    ASSERT_TRUE(opened->ledger.Reserve({pod, {gpu}}, {}).ok());
    ASSERT_TRUE(opened->ledger.Bind(gpu, pod, {}).ok());
  }
  [[nodiscard]] WholeGpu Gpu(std::size_t i) const {
    return {*node_.gpus[i].uuid, node_.gpus[i].pci};
  }
  [[nodiscard]] std::vector<service::mig::GpuSteps> ResetOf(std::size_t gpu) const {
    return {{model::GpuIdentity::Of(node_.gpus[gpu]), {{StepKind::kReset, {0, 0}, {}, {}}}}};
  }

  service::ledger::testing::Scratch scratch_;
  model::Inventory node_;
};

TEST_F(KeptGuardsTest, GuardNobodyWhereThereNeverWasALedger) {
  const base::Result<ChangeGuards> guards = KeptGuards(scratch_.path());
  ASSERT_TRUE(guards.ok());
  EXPECT_FALSE(guards->pinned);
  EXPECT_FALSE(guards->gate);
  EXPECT_FALSE(base::Exists(scratch_.path() + "/ledger.journal"));
}

TEST_F(KeptGuardsTest, NameThePodThatWasGivenAGpu) {
  Given(Gpu(0));
  const base::Result<ChangeGuards> guards = KeptGuards(scratch_.path());
  ASSERT_TRUE(guards.ok());
  const base::Result<void> refused = guards->gate(node_, ResetOf(0));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kBusy);
  EXPECT_NE(refused.error().message().find("default/train"), std::string::npos)
      << refused.error().message();
  EXPECT_TRUE(guards->gate(node_, ResetOf(1)).ok());
}

TEST_F(KeptGuardsTest, RefuseAllWhereTheLedgerCannotBeRead) {
  Given(Gpu(0));
  ASSERT_TRUE(base::WriteState({scratch_.path() + "/ledger.json", "ledger", 9}, "{}").ok());
  const base::Result<ChangeGuards> guards = KeptGuards(scratch_.path());
  ASSERT_FALSE(guards.ok());
  EXPECT_EQ(guards.error().frames().front(), "who holds what cannot be read");
}

}  // namespace
}  // namespace partita::agent
