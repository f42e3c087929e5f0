#include "hw/watch/uevents.h"

#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace partita::hw::watch {
namespace {

using namespace std::string_literals;

TEST(ParseUevent, ReadsHeadAndVariables) {
  const auto event = ParseUevent(
      "bind@/devices/pci0000:00/0000:00:02.0\0ACTION=bind\0SUBSYSTEM=pci\0DRIVER=nvidia\0"s);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(*event, (Uevent{"bind", "/devices/pci0000:00/0000:00:02.0", "pci", "nvidia"}));
}

TEST(ParseUevent, RefusesOtherForms) {
  for (const std::string& message :
       {""s, "libudev\0\xfe\xed"s, "add"s, "@/devices/x"s, "add@devices"s}) {
    EXPECT_FALSE(ParseUevent(message).ok()) << message;
  }
}

TEST(ParseUevent, DoesWithoutTheLastZero) {
  const auto event = ParseUevent("add@/module/nvidia\0SUBSYSTEM=module"s);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->subsystem, "module");
}

TEST(ConcernsGpus, PciTheModulesAndTheirDevices) {
  EXPECT_TRUE(ConcernsGpus({"remove", "/devices/pci0000:00/0000:00:02.0", "pci", ""}));
  EXPECT_TRUE(ConcernsGpus({"add", "/module/nvidia_uvm", "module", ""}));
  EXPECT_TRUE(ConcernsGpus({"change", "/devices/x", "drm", "nvidia"}));
  EXPECT_FALSE(ConcernsGpus({"add", "/module/ext4", "module", ""}));
  EXPECT_FALSE(ConcernsGpus({"change", "/devices/virtual/mem/null", "mem", ""}));
}

// Of all that the kernel says meanwhile, what is about this path.
int CountOf(const Uevents::Heard& heard, const std::string& path) {
  return static_cast<int>(std::count_if(heard.events.begin(), heard.events.end(),
                                        [&](const Uevent& each) { return each.path == path; }));
}

// Asks the kernel to say something of a device that every machine has.
void MakeKernelSpeak() { std::ofstream("/sys/devices/virtual/mem/null/uevent") << "change"; }

TEST(Uevents, HearsTheKernelAndNobodyElse) {
  auto uevents = Uevents::Open();
  if (!uevents.ok() || geteuid() != 0) GTEST_SKIP() << "needs root and netlink";

  const int sender = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
  ASSERT_GE(sender, 0);
  sockaddr_nl group{};
  group.nl_family = AF_NETLINK;
  group.nl_groups = 1;
  const std::string forged = "remove@/devices/forged\0SUBSYSTEM=pci\0"s;
  ASSERT_EQ(sendto(sender, forged.data(), forged.size(), 0,
                   reinterpret_cast<const sockaddr*>(&group), sizeof(group)),
            static_cast<ssize_t>(forged.size()));
  close(sender);
  MakeKernelSpeak();

  pollfd readable{uevents->fd(), POLLIN, 0};
  int said = 0;
  while (said == 0) {
    ASSERT_EQ(poll(&readable, 1, 10'000), 1) << "the kernel said nothing";
    const Uevents::Heard heard = uevents->Read();
    EXPECT_EQ(CountOf(heard, "/devices/forged"), 0);
    said += CountOf(heard, "/devices/virtual/mem/null");
  }
  EXPECT_EQ(said, 1);
}

TEST(Uevents, SaysThatItMissedSome) {
  auto uevents = Uevents::Open();
  if (!uevents.ok() || geteuid() != 0) GTEST_SKIP() << "needs root and netlink";
  const int least = 1;
  ASSERT_EQ(setsockopt(uevents->fd(), SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)), 0);
  for (int i = 0; i < 64; ++i) MakeKernelSpeak();
  EXPECT_TRUE(uevents->Read().missed);
}

}  // namespace
}  // namespace partita::hw::watch
