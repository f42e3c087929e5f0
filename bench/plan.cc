// How long it takes to plan a node of eight H200s, so many times; one line each: nanoseconds with
// the planner made first, as a program that has just started pays, and nanoseconds without.
//
//   bench-plan RUNS SOURCE_DIRECTORY
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "model/mig/plan.h"
#include "model/testing/mig_notation.h"
#include "model/testing/product_geometry.h"

namespace {

using partita::model::Gpu;
using partita::model::GpuGoal;
using partita::model::GpuPlan;
using partita::model::MigGeometry;
using partita::model::MigPlanners;

struct Work {
  Gpu gpu;
  GpuGoal goal;
};

// Every kind of change: from nothing, beside work that runs, the same again, all anew, shared GPU
// instances, to nothing.
std::vector<Work> MakeNode() {
  constexpr std::array<std::array<const char*, 2>, 8> kChanges = {{
      {"", "7 x 1g.18gb"},
      {"3g.71gb@0 2g.35gb@4* 1g.18gb@6*", "2g.35gb, 5 x 1g.18gb"},
      {"1g.18gb@0 1g.18gb@4*", "3g.71gb, 2 x 1g.18gb"},
      {"4g.71gb@0* 3g.71gb@4*", "4g.71gb, 3g.71gb"},
      {"7g.141gb@0", "3g.71gb, 2g.35gb, 1g.18gb, 1g.18gb+me"},
      {"3g.71gb@4[1*,1*]", "6 x 1c.3g.71gb"},
      {"1g.18gb@0* 1g.18gb@3*", "2 x 1g.18gb, 1g.35gb, 1g.18gb+me"},
      {"1g.18gb@0 1g.18gb@1 1g.18gb@2 1g.18gb@3 1g.18gb@4 1g.18gb@5 1g.18gb@6", ""},
  }};
  std::vector<Work> node;
  for (const auto& [live, wanted] : kChanges) {
    Work work;
    work.gpu = partita::model::testing::GpuWith("H200", live);
    work.goal.mig_enabled = true;
    work.goal.devices = partita::model::testing::Wanted(MigGeometry::From(*work.gpu.mig), wanted);
    node.push_back(std::move(work));
  }
  return node;
}

// Nanoseconds; 0 when a GPU has no plan.
long long PlanNode(const std::vector<Work>& node, MigPlanners& planners) {
  const auto start = std::chrono::steady_clock::now();
  for (const Work& work : node) {
    const auto plan = PlanGpu(work.gpu, planners.For(*work.gpu.mig), work.goal);
    if (!std::holds_alternative<GpuPlan>(plan)) return 0;
  }
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench-plan RUNS SOURCE_DIRECTORY\n");
    return 2;
  }
  if (chdir(argv[2]) != 0) {
    std::perror(argv[2]);
    return 1;
  }
  const std::vector<Work> node = MakeNode();
  for (long run = std::strtol(argv[1], nullptr, 10); run > 0; --run) {
    MigPlanners planners;
    const long long first = PlanNode(node, planners);
    const long long again = PlanNode(node, planners);
    if (first == 0 || again == 0) {
      std::fprintf(stderr, "bench-plan: a GPU of the sample node has no plan\n");
      return 1;
    }
    std::printf("%lld %lld\n", first, again);
  }
  return 0;
}
