#include "service/mig/gpu_report.h"

#include <gtest/gtest.h>

namespace partita::service::mig {
namespace {

using Texts = std::vector<std::string>;

model::Gpu Card(bool pending) {
  model::Gpu gpu;
  gpu.index = model::GpuIndex(3);
  gpu.uuid = model::GpuUuid("GPU-a");
  gpu.pci = {0, 7, 0, 0};
  gpu.mig.emplace();
  gpu.mig->pending_enabled = pending;
  return gpu;
}

model::Process Python() {
  model::Process process;
  process.pid = model::Pid(4711);
  process.name = "python3";
  return process;
}

ApplyReport Report(GpuEnd end, bool pending = false) {
  ApplyReport report;
  report.after.gpus = {Card(pending)};
  report.gpus = {{model::GpuIdentity::Of(report.after.gpus[0]), end}};
  return report;
}

GpuFailure Busy() {
  return {"destroy it", base::Error(base::ErrorCode::kBusy, "in use").WithHint("stop it"), {}};
}

TEST(GpuReportTest, SaysNothingOfWhatIsDone) {
  const ApplyReport report = Report(GpuEnd::kDone);
  EXPECT_FALSE(report.Failed());
  EXPECT_EQ(ErrorTexts(report), Texts());
  EXPECT_EQ(WaitingTexts(report), Texts());
}

TEST(GpuReportTest, SaysWhatFailedAndWhatIsThereNow) {
  ApplyReport report = Report(GpuEnd::kPutBack);
  report.gpus[0].failures = {Busy(), Busy()};
  report.gpus[0].failures[1].holders.processes = {Python()};
  EXPECT_TRUE(report.Failed());
  EXPECT_EQ(ErrorTexts(report),
            (Texts{"GPU 3: destroy it: in use: stop it",
                   "GPU 3: destroy it: in use; it is used by pid 4711 (python3)",
                   "GPU 3: put back as it was: MIG off"}));
}

TEST(GpuReportTest, SaysWhyAGpuIsNotAsItWas) {
  ApplyReport report = Report(GpuEnd::kLeft, true);
  EXPECT_EQ(ErrorTexts(report),
            (Texts{"GPU 3: could not be put back (it does not stay as it was); it is now MIG off "
                   "(on after a reset)"}));
  report.gpus[0].why_left = base::Error(base::ErrorCode::kBusy, "in use").Within("enable MIG mode");
  EXPECT_EQ(ErrorTexts(report), (Texts{"GPU 3: could not be put back (enable MIG mode: in use); it "
                                       "is now MIG off (on after a reset)"}));
  report.gpus[0].end = GpuEnd::kGone;
  EXPECT_EQ(ErrorTexts(report), (Texts{"GPU 3: could not be put back: it is gone"}));
}

TEST(GpuReportTest, NamesWhomAResetWaitsFor) {
  ApplyReport report = Report(GpuEnd::kWaiting, true);
  EXPECT_EQ(WaitingTexts(report), Texts()) << "nobody";
  report.gpus[0].holders.processes = {Python()};
  EXPECT_FALSE(report.Failed());
  EXPECT_EQ(ErrorTexts(report), Texts());
  EXPECT_EQ(WaitingTexts(report), (Texts{"GPU 3: its MIG mode is pending; a reset must wait for "
                                         "pid 4711 (python3)"}));
}

TEST(GpuReportTest, SaysWithoutADriverWhereTheGpuIs) {
  ApplyReport report = Report(GpuEnd::kOutOfReach);
  report.gpus[0].failures = {{"", base::Error(base::ErrorCode::kUnavailable, "no answer"), {}}};
  report.gpus.push_back({report.gpus[0].gpu, GpuEnd::kStopped});
  EXPECT_TRUE(report.Failed());
  EXPECT_EQ(ErrorTexts(report), (Texts{"GPU 3 (0000:07:00.0): no answer", "stopped before GPU 3"}));
}

TEST(GpuReportTest, SaysFirstThatItWasStopped) {
  ApplyReport report = Report(GpuEnd::kOtherwise);
  report.stopped = true;
  EXPECT_EQ(ErrorTexts(report),
            (Texts{"stopped before it was done",
                   "GPU 3: every step succeeded, but it is now MIG off: is something else changing "
                   "it?"}));
}

TEST(GpuReportTest, AGoalThatNobodyCanTellAnyMoreIsAFailure) {
  ApplyReport report;
  report.goal_error = base::Error(base::ErrorCode::kInvalid, "GPU 3 is not on this machine");
  EXPECT_TRUE(report.Failed());
  EXPECT_EQ(ErrorTexts(report), (Texts{"GPU 3 is not on this machine"}));
}

}  // namespace
}  // namespace partita::service::mig
