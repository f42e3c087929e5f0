#include "service/ledger/devices.h"

#include <string>

#include <gtest/gtest.h>

#include "service/ledger/owners.h"

namespace partita::service::ledger {
namespace {

const WholeGpu kGpu{model::GpuUuid("GPU-a"), model::PciAddress{0, 7, 0, 0}};
const MigDevice kSlice{kGpu,   model::ProfileId(9),     {4, 4},
                       {0, 3}, model::MigUuid("MIG-x"), Incarnation(5)};

TEST(Devices, AreTheirStableKeys) {
  EXPECT_EQ(KeyOf(kGpu), "GPU-a");
  EXPECT_EQ(KeyOf(kSlice), "GPU-a/9@4/0+3");
  EXPECT_EQ(KeyOf(Share{kGpu, 2, {}}), "GPU-a::2");
  EXPECT_EQ(KeyOf(Share{kSlice, 1, {}}), "GPU-a/9@4/0+3::1");
  EXPECT_EQ(KeyOf(Share{kGpu, 2, {}, "small"}), "GPU-a::small-2");
  EXPECT_EQ(KeyOf(Share{kSlice, 0, {}, "small-1"}), "GPU-a/9@4/0+3::small-1-0");
  EXPECT_EQ(KeyOf(VfioDevice{{0, 7, 0, 0}}), "0000:07:00.0");
}

TEST(Devices, OfOnePlaceHaveOneKeyWhateverTheirUuidAndIncarnation) {
  MigDevice later = kSlice;
  later.uuid = model::MigUuid("MIG-y");
  later.incarnation = Incarnation(6);
  EXPECT_EQ(KeyOf(kSlice), KeyOf(later));
  EXPECT_NE(Device(kSlice), Device(later));
  MigDevice other_profile = kSlice;
  other_profile.profile = model::ProfileId(14);
  EXPECT_NE(KeyOf(kSlice), KeyOf(other_profile)) << "drivers give the UUID of one to the other";
}

TEST(Devices, KnowTheirBoard) {
  EXPECT_EQ(BoardOf(kGpu).value(), "GPU-a");
  EXPECT_EQ(BoardOf(kSlice).value(), "GPU-a");
  EXPECT_EQ(BoardOf(Share{kSlice, 1, {}}).value(), "GPU-a");
  EXPECT_EQ(BoardOf(Share{kGpu, 1, {}}).value(), "GPU-a");
  EXPECT_EQ(BoardOf(VfioDevice{{0, 7, 0, 0}, model::GpuUuid("GPU-a")}).value(), "GPU-a");
  EXPECT_EQ(BoardOf(VfioDevice{{0, 7, 0, 0}}).value(), "0000:07:00.0");
}

TEST(Devices, AreNamedForPeople) {
  EXPECT_EQ(ToString(Device(kSlice)), "MIG-x (profile 9 at slice 4 of GPU-a)");
  EXPECT_EQ(ToString(Device(Share{kGpu, 2, {}})), "share 2 of GPU-a");
  EXPECT_EQ(ToString(Device(Share{kGpu, 2, {}, "small"})), "share small-2 of GPU-a");
  EXPECT_EQ(ToString(Device(VfioDevice{{0, 7, 0, 0}})), "0000:07:00.0 (vfio)");
}

TEST(Owners, AreNamedForPeople) {
  EXPECT_EQ(ToString(Owner(Pod{"default", "train", "main", "nvidia.com/gpu"})),
            "pod default/train (main)");
  EXPECT_EQ(ToString(Owner(Pod{"", "", "", "nvidia.com/gpu"})),
            "a pod not yet seen (nvidia.com/gpu)");
  EXPECT_EQ(ToString(Owner(ClaimName{"u-1", "default", "big"})), "claim default/big (u-1)");
  EXPECT_EQ(ToString(Owner(Operation{"7"})), "operation 7");
  EXPECT_EQ(ToString(Owner(Vm{"db", "nvidia.com/GH100"})), "virtual machine db");
  EXPECT_EQ(ToString(Owner(Foreign{"pid 4711 (python3)"})), "pid 4711 (python3)");
}

}  // namespace
}  // namespace partita::service::ledger
