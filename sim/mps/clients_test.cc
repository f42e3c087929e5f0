#include "sim/mps/clients.h"

#include <gtest/gtest.h>

#include "sim/state/mig.h"
#include "sim/state/test_node.h"

namespace partita::sim::mps {
namespace {

constexpr cuda::DeviceRef kFirst{0, kNone, kNone};

Connection Made(int fd, std::uint32_t pid, std::uint32_t context) {
  Connection connection;
  connection.fd = fd;
  connection.pid = pid;
  connection.context = context;
  connection.device = kFirst;
  connection.pid_ns = 4026531836;
  connection.name = "/tmp/load";
  return connection;
}

class ServersClients : public testing::Test {
 protected:
  ServersClients() {
    for (const Connection& one :
         {Made(1, 616, 0), Made(2, 617, 0), Made(3, 616, 1), Made(4, 617, 1)}) {
      clients_.Add(one);
    }
  }
  Clients clients_;
};

TEST_F(ServersClients, AreListedOnceTheyHaveAContext) {
  clients_.Add(Made(5, 700, 0));
  clients_.Add(Made(6, 616, 2));
  EXPECT_EQ(clients_.ProcessList(), "616\n617\n");
  EXPECT_EQ(clients_.ListOn(kFirst), "616.1\n617.1\n616.2\n");
  EXPECT_EQ(clients_.ListOn({1, kNone, kNone}), "");
  EXPECT_EQ(clients_.CountOn(kFirst), 3U);
}

// data/captures/h200/mps.txt has these lines, with another UUID.
TEST_F(ServersClients, AreRowsOfPs) {
  const Loaded node = LoadProfile("h200-vm");
  EXPECT_EQ(PsHead() + clients_.Rows(*node.machine, 590),
            "PID       ID        SERVER         DEVICE                    NAMESPACE      COMMAND   "
            "     \n"
            "616       1         590            GPU-d64bec6d-47c0-9a0b    4026531836     /tmp/load "
            "     \n"
            "617       2         590            GPU-d64bec6d-47c0-9a0b    4026531836     /tmp/load "
            "     \n");
}

TEST_F(ServersClients, KeepTheirNumbersWhenOthersGo) {
  const Loaded node = LoadProfile("h200-vm");
  EXPECT_EQ(clients_.Remove(3).pid, 616U);
  EXPECT_EQ(clients_.Remove(3).pid, 0U);
  clients_.Add(Made(7, 800, 1));
  EXPECT_EQ(clients_.all().back().number, 3U);
  EXPECT_TRUE(clients_.HasProcess(616));
  clients_.Remove(1);
  EXPECT_FALSE(clients_.HasProcess(616));
}

TEST_F(ServersClients, AllEndWithTheOneThatFaults) {
  const std::vector<Connection> contexts = clients_.Contexts();
  const std::vector<std::string> lines = FaultLines(contexts[1], contexts, {0, 0});
  EXPECT_EQ(
      lines,
      (std::vector<std::string>{
          "Client {PID: 617, Context: 1} encountered a fatal GPU error.",
          "Server is handling a fatal GPU error.",
          "Client {PID: 616, Context ID: 1} on device 0 to be torn down",
          "Client {PID: 617, Context ID: 1} on device 0 to be torn down",
          "All clients belonging to error trigging process 616 will be torn down",
          "Client {PID: 616, Context ID: 1} on the error-trigging process 616 to be torn down",
          "All clients belonging to error trigging process 617 will be torn down",
          "Client {PID: 617, Context ID: 1} on the error-trigging process 617 to be torn down",
          "The following devices will be reset:", "0",
          "The following client process have a sticky error set:", "616", "617"}));
}

TEST(MostClients, FollowsTheArchitectureAndTheSlice) {
  Loaded node = LoadProfile("dgx-a100-40");
  Slot& slot = *node.slot;
  EXPECT_EQ(MostClients(*node.machine, slot, kFirst), 48U);
  slot.gpus[0].instances[1].live = 1;
  slot.gpus[0].instances[1].compute[0] = {1, 0, 0, 1};
  EXPECT_EQ(MostClients(*node.machine, slot, {0, 1, 0}), 6U);
  slot.gpus[0].instances[1].compute[0].size = 3;
  EXPECT_EQ(MostClients(*node.machine, slot, {0, 1, 0}), 20U);
  node.machine->boards[0].compute_major = 6;
  EXPECT_EQ(MostClients(*node.machine, slot, kFirst), 16U);
}

}  // namespace
}  // namespace partita::sim::mps
