#include "service/mps/domain.h"

#include <gtest/gtest.h>

namespace partita::service::mps {
namespace {

constexpr std::uint64_t kH200Bytes = 150'754'820'096;  // 143771 MiB

Member Gpu(const char* uuid, std::uint8_t bus) {
  return {.uuid = uuid,
          .pci = {.domain = 0, .bus = bus, .device = 0, .function = 0},
          .memory = model::Bytes(kH200Bytes),
          .mig = false,
          .capability = {9, 0},
          .compute = {}};
}

Member Mig(const char* uuid, std::uint32_t slices, std::uint64_t mebibytes) {
  return {.uuid = uuid,
          .pci = {.domain = 0, .bus = 1, .device = 0, .function = 0},
          .memory = model::Bytes(mebibytes << 20),
          .mig = true,
          .capability = {9, 0},
          .compute = {slices, 7}};
}

TEST(EqualShare, IsThePartRoundedDownAsTheReferenceCounts) {
  EXPECT_EQ(EqualShare(Gpu("GPU-a", 1), 2, {}),
            (Limits{model::Mebibytes(71885), model::Percent(50)}));
  EXPECT_EQ(EqualShare(Gpu("GPU-a", 1), 3, {}),
            (Limits{model::Mebibytes(47923), model::Percent(33)}));
  EXPECT_EQ(EqualShare(Gpu("GPU-a", 1), 1, {}), WholeOf(Gpu("GPU-a", 1)));
}

TEST(EqualShare, GrowsByItsFactorsToTheWholeAtMost) {
  const Member gpu = Gpu("GPU-a", 1);
  EXPECT_EQ(EqualShare(gpu, 4, {.memory = 1.5, .threads = 2}),
            (Limits{model::Mebibytes(53914), model::Percent(50)}));
  // Rounded once: not 1.5 times 33.
  EXPECT_EQ(EqualShare(gpu, 3, {.memory = 1, .threads = 1.5}).threads, model::Percent(50));
  EXPECT_EQ(EqualShare(gpu, 2, {.memory = 3, .threads = 1e9}), WholeOf(gpu));
}

TEST(EqualShare, IsNeverNothing) {
  Member tiny = Gpu("GPU-a", 1);
  tiny.memory = model::Bytes(3 << 20);
  EXPECT_EQ(EqualShare(tiny, 48, {}), (Limits{model::Mebibytes(1), model::Percent(2)}));
  EXPECT_EQ(EqualShare(tiny, 48, {.memory = 0.01, .threads = 0.01}),
            (Limits{model::Mebibytes(1), model::Percent(1)}));
}

TEST(Times, AContainerWithSeveralSharesGetsAllOfThem) {
  const Member gpu = Gpu("GPU-a", 1);
  const Limits third = EqualShare(gpu, 3, {});
  EXPECT_EQ(Times(third, 2, WholeOf(gpu)), (Limits{model::Mebibytes(95846), model::Percent(66)}));
  const Limits more = EqualShare(gpu, 2, {.memory = 1.5, .threads = 1.5});
  EXPECT_EQ(Times(more, 2, WholeOf(gpu)), WholeOf(gpu));
}

TEST(MostClients, AreThoseOfTheHardware) {
  Member gpu = Gpu("GPU-a", 1);
  EXPECT_EQ(MostClients(gpu), 48U);
  gpu.capability = {7, 0};
  EXPECT_EQ(MostClients(gpu), 48U);
  gpu.capability = {6, 9};
  EXPECT_EQ(MostClients(gpu), 16U);
  EXPECT_EQ(MostClients(Mig("MIG-a", 3, 100)), 20U);
  EXPECT_EQ(MostClients(Mig("MIG-a", 1, 100)), 6U);
  EXPECT_EQ(MostClients(Mig("MIG-a", 0, 100)), 1U);
}

TEST(IsDomainName, NothingThatLeadsElsewhere) {
  for (const char* good : {"GPU-1", "nvidia.com_gpu", "nvidia.com_mig-1g.18gb.shared"}) {
    EXPECT_TRUE(IsDomainName(good)) << good;
  }
  for (const char* bad : {"", ".", "..", "a/b", "a b", "a\nb", ".started"}) {
    EXPECT_FALSE(IsDomainName(bad)) << bad;
  }
  EXPECT_FALSE(IsDomainName(std::string(129, 'a')));
  EXPECT_EQ(NameOfResource("nvidia.com/gpu"), "nvidia.com_gpu");
}

TEST(MakeDomains, EachDeviceHasOneWhereAContainerGetsOneShare) {
  const Domains made = MakeDomains({{.resource = "nvidia.com/gpu",
                                     .one_share_each = true,
                                     .devices = {{Gpu("GPU-b", 2), 2}, {Gpu("GPU-a", 1), 4}}}},
                                   {});
  EXPECT_EQ(made.problems, std::vector<std::string>());
  ASSERT_EQ(made.domains.size(), 2U);
  EXPECT_EQ(made.domains[0], (Domain{.name = "GPU-a",
                                     .members = {Gpu("GPU-a", 1)},
                                     .memory = {model::Mebibytes(35942)},
                                     .threads = model::Percent(25)}));
  EXPECT_EQ(made.domains[1].name, "GPU-b");
  EXPECT_EQ(made.domains[1].threads, model::Percent(50));
}

TEST(MakeDomains, OneForTheWholeGpusOfAResourceWhereAContainerGetsSeveral) {
  const Domains made = MakeDomains(
      {{.resource = "nvidia.com/gpu.shared",
        .one_share_each = false,
        .devices = {{Gpu("GPU-b", 1), 2}, {Mig("MIG-a", 3, 71424), 2}, {Gpu("GPU-a", 2), 2}}}},
      {});
  ASSERT_EQ(made.domains.size(), 2U);
  EXPECT_EQ(made.domains[0], (Domain{.name = "MIG-a",
                                     .members = {Mig("MIG-a", 3, 71424)},
                                     .memory = {model::Mebibytes(71424)},
                                     .threads = model::Percent(100)}));
  // By address, not as they were given; the defaults are the whole, for clients to lower.
  EXPECT_EQ(made.domains[1], (Domain{.name = "nvidia.com_gpu.shared",
                                     .members = {Gpu("GPU-b", 1), Gpu("GPU-a", 2)},
                                     .memory = {model::Mebibytes(143771), model::Mebibytes(143771)},
                                     .threads = model::Percent(100)}));
}

TEST(MakeDomains, MoreSharesThanClientsAreAProblemOfThatDeviceAlone) {
  const Domains made = MakeDomains(
      {{.resource = "nvidia.com/gpu",
        .one_share_each = true,
        .devices = {{Gpu("GPU-a", 1), 49}, {Mig("MIG-a", 1, 16384), 7}, {Gpu("GPU-b", 2), 48}}}},
      {});
  ASSERT_EQ(made.domains.size(), 1U);
  EXPECT_EQ(made.domains[0].name, "GPU-b");
  EXPECT_EQ(made.left_out, (std::vector<std::string>{"GPU-a", "MIG-a"}));
  EXPECT_EQ(made.problems,
            (std::vector<std::string>{
                "nvidia.com/gpu: GPU-a cannot have 49 shares by MPS: it serves at most 48 clients "
                "at once; set fewer replicas",
                "nvidia.com/gpu: MIG-a cannot have 7 shares by MPS: it serves at most 6 clients at "
                "once, with 1 of 7 compute slices; set fewer replicas"}));
}

Size SizeOf(const char* name,
            std::uint32_t replicas,
            std::uint64_t mebibytes,
            std::uint32_t threads) {
  return {.name = name,
          .replicas = replicas,
          .memory = model::Bytes(mebibytes << 20),
          .memory_part = {},
          .threads = model::Percent(threads)};
}

Domains MakeSized(std::vector<Size> sizes, const Factors& factors, bool one_each = true) {
  std::uint32_t replicas = 0;
  for (const Size& size : sizes) replicas += size.replicas;
  return MakeDomains({{.resource = "nvidia.com/gpu",
                       .one_share_each = one_each,
                       .devices = {{Gpu("GPU-a", 1), replicas, std::move(sizes)}}}},
                     factors);
}

TEST(SizedShare, IsAsManyBytesOrSoMuchOfItsDevice) {
  const Member gpu = Gpu("GPU-a", 1);
  EXPECT_EQ(SizedShare(gpu, SizeOf("a", 1, 8192, 10)),
            (Limits{model::Mebibytes(8192), model::Percent(10)}));
  Size part = SizeOf("a", 1, 0, 100);
  part.memory_part = model::Percent(50);
  EXPECT_EQ(SizedShare(gpu, part), (Limits{model::Mebibytes(71885), model::Percent(100)}));
  part.memory_part = model::Percent(100);
  EXPECT_EQ(SizedShare(gpu, part), WholeOf(gpu));
  // Rounded once, and down.
  part.memory_part = model::Percent(33);
  EXPECT_EQ(SizedShare(Mig("MIG-a", 3, 1000), part).memory, model::Mebibytes(330));
  EXPECT_EQ(SizedShare(Mig("MIG-a", 3, 10), part).memory, model::Mebibytes(3));
}

TEST(MakeDomains, TheDefaultsOfSizesAreTheMostThatOneShareHas) {
  // Each of the two: no program that takes its variables away gets more than some share has.
  const std::vector<Size> sizes = {SizeOf("wide", 2, 4096, 40), SizeOf("deep", 1, 65536, 20)};
  const Domains made = MakeSized(sizes, {});
  EXPECT_EQ(made.problems, std::vector<std::string>());
  ASSERT_EQ(made.domains.size(), 1U);
  EXPECT_EQ(made.domains[0], (Domain{.name = "GPU-a",
                                     .members = {Gpu("GPU-a", 1)},
                                     .memory = {model::Mebibytes(65536)},
                                     .threads = model::Percent(40)}));
  // Factors are for what they are together: a size is as it is written.
  EXPECT_EQ(MakeSized(sizes, {.memory = 3, .threads = 2}).domains, made.domains);
  // One size: exactly that.
  EXPECT_EQ(MakeSized({SizeOf("a", 3, 8192, 30)}, {}).domains[0].memory,
            std::vector{model::Mebibytes(8192)});
  // Several in a container are lowered from the whole.
  const Domains several = MakeSized(sizes, {}, false);
  ASSERT_EQ(several.domains.size(), 1U);
  EXPECT_EQ(several.domains[0], (Domain{.name = "nvidia.com_gpu",
                                        .members = {Gpu("GPU-a", 1)},
                                        .memory = {model::Mebibytes(143771)},
                                        .threads = model::Percent(100)}));
}

TEST(MakeDomains, SizesThatDoNotFitTogetherLeaveTheirDeviceOut) {
  const auto problem = [](const std::vector<Size>& sizes, const Factors& factors) {
    const Domains made = MakeSized(sizes, factors);
    EXPECT_EQ(made.domains.size(), made.problems.empty() ? 1U : 0U);
    EXPECT_EQ(made.left_out.size(), made.problems.size());
    return made.problems.empty() ? "" : made.problems[0];
  };
  const std::vector<Size> more = {SizeOf("a", 2, 40000, 25), SizeOf("b", 1, 63772, 50)};
  EXPECT_EQ(problem(more, {}),
            "nvidia.com/gpu: GPU-a cannot be shared by MPS: its shares take 143772 MiB of memory "
            "together, and it has 143771 MiB for them; set fewer or smaller ones, or a higher "
            "mps.memoryFactor");
  EXPECT_EQ(problem(more, {.memory = 1.1, .threads = 1}), "");
  EXPECT_EQ(problem({SizeOf("a", 2, 40000, 25), SizeOf("b", 1, 63771, 50)}, {}), "");
  const std::vector<Size> wide = {SizeOf("a", 2, 1024, 25), SizeOf("b", 1, 1024, 51)};
  EXPECT_EQ(problem(wide, {}),
            "nvidia.com/gpu: GPU-a cannot be shared by MPS: its shares take 101 % of its "
            "multiprocessors together, and it has 100 % for them; set fewer or smaller ones, or a "
            "higher mps.threadFactor");
  EXPECT_EQ(problem(wide, {.memory = 1, .threads = 1.01}), "");
  EXPECT_EQ(problem({SizeOf("a", 5, 1024, 23)}, {.memory = 1, .threads = 1.15}), "");
  EXPECT_EQ(problem({SizeOf("a", 1, 143772, 50)}, {.memory = 2, .threads = 1}),
            "nvidia.com/gpu: GPU-a cannot be shared by MPS: a share of size a takes 143772 MiB of "
            "memory, and it has 143771 MiB; make that size smaller");
  EXPECT_EQ(problem({SizeOf("a", 40, 1024, 1), SizeOf("b", 9, 1024, 1)}, {}),
            "nvidia.com/gpu: GPU-a cannot have 49 shares by MPS: it serves at most 48 clients at "
            "once; set fewer replicas");
}

TEST(MakeDomains, WhatCannotBeSharedIsToldOnce) {
  Member unknown = Gpu("GPU-a", 1);
  unknown.memory = model::Bytes(0);
  const Domains made = MakeDomains(
      {{.resource = "a.com/x", .one_share_each = true, .devices = {{unknown, 2}}},
       {.resource = "a.com/y", .one_share_each = true, .devices = {{Gpu("GPU-b", 2), 2}}},
       {.resource = "a.com/z", .one_share_each = false, .devices = {{Gpu("GPU-b", 2), 2}}}},
      {});
  EXPECT_EQ(made.domains.size(), 1U);
  EXPECT_EQ(made.problems,
            (std::vector<std::string>{
                "a.com/x: GPU-a cannot be shared by MPS: its memory or name is not known",
                "a.com/z: GPU-b is shared by MPS under another name already; it stays with that "
                "one"}));
}

TEST(MakeDomains, AnOldMigUuidIsOneDirectory) {
  const Domains made = MakeDomains({{.resource = "nvidia.com/gpu",
                                     .one_share_each = true,
                                     .devices = {{Mig("MIG-GPU-a/1/0", 1, 4864), 2}}}},
                                   {});
  ASSERT_EQ(made.domains.size(), 1U);
  EXPECT_EQ(made.domains[0].name, "MIG-GPU-a_1_0");
  EXPECT_EQ(made.domains[0].members[0].uuid, "MIG-GPU-a/1/0");
}

}  // namespace
}  // namespace partita::service::mps
