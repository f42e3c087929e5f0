#include "service/run/grant.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace partita::service::run {
namespace {

using partita::cdi::Device;
using partita::cdi::DeviceNode;
using partita::cdi::DeviceRow;
using partita::cdi::NodeDevices;

DeviceNode NodeAt(const std::string& path) {
  DeviceNode node;
  node.path = path;
  return node;
}

void Offer(NodeDevices& node,
           DeviceRow row,
           const std::string& name,
           std::vector<DeviceNode> nodes) {
  Device device;
  device.name = row.cdi_name = name;
  device.edits.device_nodes = std::move(nodes);
  node.rows.push_back(row);
  node.spec.devices.push_back(device);
}

// GPU 0 whole, GPU 1 divided, GPU 2 in MIG mode without a device, GPU 3 broken.
NodeDevices Sample() {
  NodeDevices node;
  node.spec.edits.device_nodes = {NodeAt("/dev/nvidiactl")};
  Offer(node, {}, "0", {NodeAt("/dev/nvidia0")});
  DeviceRow gpu;
  gpu.index = 1;
  gpu.mig_enabled = true;
  Offer(node, gpu, "1", {NodeAt("/dev/nvidia1")});
  for (const std::uint32_t slot : {0U, 1U}) {
    DeviceRow slice = gpu;
    DeviceRow::Mig mig;
    mig.slot = slot;
    slice.mig = mig;
    Offer(node, slice, fmt::format("1:{}", slot),
          {NodeAt("/dev/nvidia1"), NodeAt(fmt::format("/dev/nvidia-caps/nvidia-cap{}", slot))});
  }
  gpu.index = 2;
  Offer(node, gpu, "2", {NodeAt("/dev/nvidia2")});
  DeviceRow broken;
  broken.index = 3;
  node.rows.push_back(broken);
  return node;
}

std::string Granted(const std::vector<std::string>& ids) {
  const base::Result<Grant> grant = GrantOf(ids, Sample());
  if (!grant.ok()) return grant.error().ToString() + "; " + grant.error().hint();
  std::string text = base::Join(grant->devices, " ") + " |";
  for (const DeviceNode& node : grant->nodes) text += " " + node.path.substr(5);
  return text;
}

TEST(Grant, HasTheNodesOfWhatWasNamed) {
  EXPECT_EQ(Granted({"0"}), "0 | nvidiactl nvidia0");
  EXPECT_EQ(Granted({"1:1"}), "1:1 | nvidiactl nvidia1 nvidia-caps/nvidia-cap1");
  EXPECT_EQ(Granted({"1:0", "0", "1:0", "1:1"}),
            "1:0 0 1:1 | nvidiactl nvidia1 nvidia-caps/nvidia-cap0 nvidia0 "
            "nvidia-caps/nvidia-cap1");
}

TEST(Grant, AllIsWhatProgramsRunOn) {
  EXPECT_EQ(Granted({"all"}),
            "0 1:0 1:1 | nvidiactl nvidia0 nvidia1 nvidia-caps/nvidia-cap0 "
            "nvidia-caps/nvidia-cap1");
  EXPECT_EQ(Granted({"none"}), " | nvidiactl");
  EXPECT_EQ(GrantOf(std::vector<std::string>{"all"}, {}).error().ToString(),
            "this machine has no GPU that can be given; see partita doctor");
}

std::string Ids(const std::vector<std::string>& lists) {
  const base::Result<std::vector<std::string>> ids = ReadIds(lists);
  return ids.ok() ? base::Join(*ids, " ") : ids.error().ToString() + "; " + ids.error().hint();
}

TEST(ReadIds, ListsAddUpAndEmptyItemsDoNotCount) {
  EXPECT_EQ(Ids({"0, 1:0 ,,", "MIG-x"}), "0 1:0 MIG-x");
  EXPECT_EQ(Ids({"0,0", "0"}), "0");
  EXPECT_EQ(Ids({"ALL"}), "all");
  EXPECT_EQ(Ids({"None,none", ""}), "none");
}

TEST(ReadIds, RefusesWhatSaysTwoThings) {
  EXPECT_EQ(Ids({"all,0"}),
            "\"all\" together with \"0\"; all is every device already: leave one of them out");
  EXPECT_EQ(Ids({"1:0", "All"}),
            "\"all\" together with \"1:0\"; all is every device already: leave one of them out");
  EXPECT_EQ(Ids({"none,0"}),
            "\"none\" together with \"0\"; none is no device: leave one of them out");
  EXPECT_EQ(Ids({"none,all"}),
            "\"all\" together with \"none\"; all is every device already: leave one of them out");
  EXPECT_EQ(Ids({"0,void"}), "\"void\" is for containers that are left alone; none gives no GPU");
  for (const char* nothing : {"", ",", " , "})
    EXPECT_EQ(Ids({nothing}),
              "no device is named; name one (0, 0:1, a UUID or a PCI address), or all, or none");
}

TEST(Grant, SaysWhyNot) {
  EXPECT_EQ(Granted({"1"}),
            "GPU 1 is in MIG mode: programs run on its MIG devices; name 1:0 or 1:1");
  EXPECT_EQ(Granted({"2"}),
            "GPU 2 is in MIG mode: programs run on its MIG devices; it has none yet: partita mig "
            "apply makes some");
  EXPECT_EQ(Granted({"0", "3"}),
            "3 cannot be given: it does not work, or a device node of it is missing; partita "
            "doctor looks for the cause");
  EXPECT_EQ(Granted({"7"}), "7: unknown device; this machine has 0, 1:0, 1:1");
  EXPECT_EQ(Granted({"0", "all"}),
            "identifier is not a valid UUID or index: \"all\"; this machine has 0, 1:0, 1:1");
  EXPECT_EQ(GrantOf(std::vector<std::string>{"7"}, Sample()).error().code(),
            base::ErrorCode::kInvalid);
}

}  // namespace
}  // namespace partita::service::run
