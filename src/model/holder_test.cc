#include "model/holder.h"

#include <gtest/gtest.h>

namespace partita::model {
namespace {

const char kId[] = "3f2a1b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708";

Process Trainer() {
  Process process;
  process.pid = Pid(4711);
  process.name = "/usr/bin/python3";
  return process;
}

TEST(HolderText, NamesAProcessOfTheMachine) {
  Process process = Trainer();
  EXPECT_EQ(HolderText(process), "pid 4711 (/usr/bin/python3)");
  process.name.clear();
  EXPECT_EQ(HolderText(process), "pid 4711");
}

TEST(HolderText, NamesThePodAsFarAsItIsKnown) {
  Process process = Trainer();
  process.container = Container{kId, "main", "6f0c-uid", "default", "train"};
  EXPECT_EQ(HolderText(process), "pid 4711 (/usr/bin/python3) in pod default/train (main)");
  process.container = Container{kId, "", "6f0c-uid", "default", "train"};
  EXPECT_EQ(HolderText(process), "pid 4711 (/usr/bin/python3) in pod default/train");
  process.container = Container{kId, "", "6f0c-uid", "", ""};
  EXPECT_EQ(HolderText(process), "pid 4711 (/usr/bin/python3) in pod 6f0c-uid");
  process.container = Container{kId, "", "", "", ""};
  EXPECT_EQ(HolderText(process), "pid 4711 (/usr/bin/python3) in container 3f2a1b4c5d6e");
  process.container = Container{};
  EXPECT_EQ(HolderText(process), "pid 4711 (/usr/bin/python3)");
}

TEST(HowToEnd, IsKnownOfAServerOfMpsAlone) {
  Process process = Trainer();
  EXPECT_EQ(HowToEnd(process), "");
  process.name = "";
  EXPECT_EQ(HowToEnd(process), "");
  process.name = "/usr/bin/nvidia-cuda-mps-control -f";
  EXPECT_EQ(HowToEnd(process), "");
  for (const char* name : {"nvidia-cuda-mps-server", "/usr/bin/nvidia-cuda-mps-server -x"}) {
    process.name = name;
    EXPECT_EQ(HowToEnd(process),
              "pid 4711 is a server of MPS, which stays when its clients have gone; as root, this "
              "has it end once it has none: echo shutdown_server 4711 | env \"$(tr '\\0' '\\n' "
              "</proc/4711/environ | grep ^CUDA_MPS_PIPE_DIRECTORY=)\" nvidia-cuda-mps-control");
  }
}

TEST(HolderText, IsOneLineThatIsSafeToPrint) {
  Process process;
  process.pid = Pid(4711);
  process.name = "sh \x1b]0;gone\x07\nGPU 0: all is well";
  EXPECT_EQ(HolderText(process), "pid 4711 (sh ?]0;gone??GPU 0: all is well)");
}

}  // namespace
}  // namespace partita::model
