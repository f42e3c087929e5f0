// The rules around the calls: before init, nothing given, too little room, wrong tags, old structs.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/nvml/capture.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/test_node.h"
#include "sim/state/test_node.h"

namespace partita::sim::nvml {
namespace {

using AnyCall = int (*)(void*, void*, void*, void*, void*, void*);

std::vector<std::string> ExportedNames() {
  std::ifstream file("sim/nvml/exports.txt");
  std::vector<std::string> names;
  for (std::string name; std::getline(file, name);) names.push_back(name);
  return names;
}

AnyCall Find(const std::string& name) {
  return reinterpret_cast<AnyCall>(dlsym(RTLD_DEFAULT, name.c_str()));
}

int CallWithNothing(const std::string& name) {
  return Find(name)(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
}

// Not about a device, or answered without init.
const std::set<std::string>& Special() {
  static const std::set<std::string> names = {"nvmlInit",          "nvmlInit_v2",
                                              "nvmlInitWithFlags", "nvmlShutdown",
                                              "nvmlErrorString",   "nvmlSystemGetNVMLVersion"};
  return names;
}

TEST(Exports, AreThoseOfADriverLessItsPrivateTable) {
  std::ifstream file("data/captures/h200/exports.txt");
  std::vector<std::string> names;
  for (std::string name; std::getline(file, name);) {
    if (name != "nvmlInternalGetExportTable") names.push_back(name);
  }
  EXPECT_EQ(names.size(), 403);
  EXPECT_EQ(ExportedNames(), names);
  for (const std::string& name : names) EXPECT_NE(Find(name), nullptr) << name;
  EXPECT_EQ(Find("nvmlInternalGetExportTable"), nullptr);
}

TEST(BeforeInit, EveryCallIsUninitialized) {
  TestNode node("h200-vm");
  ASSERT_EQ(nvmlShutdown(), NVML_SUCCESS);
  for (const std::string& name : ExportedNames()) {
    if (Special().contains(name)) continue;
    EXPECT_EQ(CallWithNothing(name), NVML_ERROR_UNINITIALIZED) << name;
  }
  EXPECT_EQ(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
}

TEST(AfterFork, EveryCallOfTheChildIsUninitializedUntilItInitialises) {
  TestNode node("h200-vm");
  const std::vector<std::string> names = ExportedNames();
  const pid_t child = InChild([&] {
    for (const std::string& name : names) {
      if (Special().contains(name) || CallWithNothing(name) == NVML_ERROR_UNINITIALIZED) continue;
      std::fprintf(stderr, "%s answers in a child of fork\n", name.c_str());
      return 1;
    }
    if (nvmlShutdown() != NVML_ERROR_UNINITIALIZED) return 2;
    if (nvmlInit_v2() != NVML_SUCCESS) return 3;
    unsigned int minor = 9;
    if (nvmlDeviceGetMinorNumber(node.gpu(), &minor) != NVML_SUCCESS || minor != 0) return 4;
    return nvmlShutdown() == NVML_SUCCESS ? 0 : 5;
  });
  EXPECT_EQ(StatusOf(child), 0);
  EXPECT_NE(node.gpu(), nullptr) << "the parent's session is its own";
}

TEST(BeforeInit, TheLibrarysVersionIsKnown) {
  TestNode node("h200-vm");
  ASSERT_EQ(nvmlShutdown(), NVML_SUCCESS);
  char version[NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE] = "";
  EXPECT_EQ(nvmlSystemGetNVMLVersion(version, sizeof version), NVML_SUCCESS);
  EXPECT_STREQ(version, "13.580.159.04");
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
}

TEST(NothingGiven, IsInvalidOrNotSupportedAndNeverACrash) {
  TestNode node("h200-vm");
  for (const std::string& name : ExportedNames()) {
    if (Special().contains(name)) continue;
    const int code = CallWithNothing(name);
    EXPECT_TRUE(code == NVML_ERROR_INVALID_ARGUMENT || code == NVML_ERROR_NOT_SUPPORTED)
        << name << " answered " << code;
  }
}

TEST(StrictMode, FailsOnWhatIsNotSimulatedAndNamesIt) {
  setenv("PARTITA_SIM_STRICT", "1", 1);
  {
    TestNode node("h200-vm");
    testing::internal::CaptureStderr();
    EXPECT_EQ(CallWithNothing("nvmlDeviceGetPdi"), NVML_ERROR_UNKNOWN);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "libnvidia-ml (simulated): nvmlDeviceGetPdi is not simulated (PARTITA_SIM_STRICT is "
              "set)\n");
  }
  unsetenv("PARTITA_SIM_STRICT");
}

TEST(CallLog, NamesEveryCallAlsoThoseNotSimulated) {
  TestNode node("h200-vm");
  const std::string path = node.root() + "/calls";
  ASSERT_EQ(nvmlShutdown(), NVML_SUCCESS);
  setenv("PARTITA_SIM_CALLS", path.c_str(), 1);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  CallWithNothing("nvmlDeviceGetPdi");
  unsigned int count = 0;
  nvmlDeviceGetCount(&count);
  unsetenv("PARTITA_SIM_CALLS");
  std::ifstream file(path);
  const std::string log((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NE(log.find(" nvmlDeviceGetPdi gpu=- rc=3 "), std::string::npos) << log;
  EXPECT_NE(log.find(" nvmlDeviceGetCount gpu=- rc=0 "), std::string::npos) << log;
}

TEST(NothingGiven, GarbageIsNoHandle) {
  TestNode node("h200-vm");
  char name[96];
  for (const uintptr_t value : {uintptr_t{0x1234}, uintptr_t{1}, ~uintptr_t{0}}) {
    nvmlDevice_t garbage = nullptr;
    std::memcpy(&garbage, &value, sizeof value);
    EXPECT_EQ(nvmlDeviceGetName(garbage, name, sizeof name), NVML_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(nvmlDeviceGetName(reinterpret_cast<nvmlDevice_t>(name), name, sizeof name),
            NVML_ERROR_INVALID_ARGUMENT);
}

// "name size 12" and the like: the number in the probe's own label.
long long NumberIn(const std::string& label) {
  return std::strtoll(label.substr(label.rfind(' ') + 1).c_str(), nullptr, 0);
}

int AskAgain(const std::string& label, nvmlDevice_t gpu) {
  char text[96];
  nvmlDevice_t found = nullptr;
  const auto starts = [&](const char* prefix) { return label.rfind(prefix, 0) == 0; };
  const std::string last = label.substr(label.find(' ') + 1);
  const auto number = static_cast<unsigned int>(NumberIn(label));
  if (starts("name size ")) return nvmlDeviceGetName(gpu, text, number);
  if (starts("uuid size ")) return nvmlDeviceGetUUID(gpu, text, number);
  if (starts("driver version size ")) return nvmlSystemGetDriverVersion(text, number);
  if (label == "name null") return nvmlDeviceGetName(gpu, nullptr, 96);
  if (label == "count null") return nvmlDeviceGetCount_v2(nullptr);
  if (label == "memory null") return nvmlDeviceGetMemoryInfo(gpu, nullptr);
  if (label == "name null device") return nvmlDeviceGetName(nullptr, text, sizeof text);
  if (starts("index ")) return nvmlDeviceGetHandleByIndex_v2(number, &found);
  if (starts("uuid ")) return nvmlDeviceGetHandleByUUID(last.c_str(), &found);
  if (starts("pci ")) return nvmlDeviceGetHandleByPciBusId_v2(last.c_str(), &found);
  if (starts("serial ")) return nvmlDeviceGetHandleBySerial(last.c_str(), &found);
  if (starts("memory_v2 version ")) {
    nvmlMemory_v2_t memory{};
    memory.version = number;
    return nvmlDeviceGetMemoryInfo_v2(gpu, &memory);
  }
  if (starts("compute processes count ")) {
    unsigned int count = number;
    nvmlProcessInfo_t processes[64];
    return nvmlDeviceGetComputeRunningProcesses_v3(gpu, &count, processes);
  }
  return -1;
}

TEST(CapturedProtocol, SizesNamesAndTagsAreAnsweredTheSame) {
  TestNode node("h200-vm");
  int asked = 0;
  for (const Exchange& exchange : ReadCapture("data/captures/h200/nvml-probe.jsonl")) {
    const int code = AskAgain(exchange.call, node.gpu());
    if (code < 0) continue;
    EXPECT_EQ(code, exchange.code) << exchange.call;
    ++asked;
  }
  EXPECT_EQ(asked, 54);
}

TEST(Texts, AreNeverCutAndNothingIsWrittenWhereTheyDoNotFit) {
  TestNode node("h200-vm");
  char text[96];
  std::memset(text, 'x', sizeof text);
  EXPECT_EQ(nvmlDeviceGetName(node.gpu(), text, 11), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(std::string(text, sizeof text), std::string(sizeof text, 'x'));
  EXPECT_EQ(nvmlDeviceGetName(node.gpu(), text, 12), NVML_SUCCESS);
  EXPECT_STREQ(text, "NVIDIA H200");
  EXPECT_EQ(text[12], 'x');
}

TEST(Texts, AProcessNameAloneIsCut) {
  TestNode node("h200-vm");
  char text[8];
  const auto self = static_cast<unsigned int>(getpid());
  EXPECT_EQ(nvmlSystemGetProcessName(self, text, sizeof text), NVML_SUCCESS);
  EXPECT_EQ(std::strlen(text), 7);
  EXPECT_EQ(nvmlSystemGetProcessName(4194303, text, sizeof text), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlSystemGetProcessName(self, nullptr, 8), NVML_ERROR_INVALID_ARGUMENT);
}

TEST(Tags, AWrongOneIsRefusedAsTheFunctionDoes) {
  TestNode node("h200-vm");
  nvmlMemory_v2_t memory{};
  memory.version = 2;  // what nvtop passes
  EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(node.gpu(), &memory), NVML_ERROR_FUNCTION_NOT_FOUND);
  nvmlPciInfoExt_v1_t pci{};
  EXPECT_EQ(nvmlDeviceGetPciInfoExt(node.gpu(), &pci), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  nvmlGpuFabricInfo_v3_t fabric{};
  fabric.version = 0x01000024;
  EXPECT_EQ(nvmlDeviceGetGpuFabricInfoV(node.gpu(), &fabric), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  nvmlDeviceAddressingMode_v1_t mode{};
  EXPECT_EQ(nvmlDeviceGetAddressingMode(node.gpu(), &mode), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  nvmlProcessDetailList_v1_t list{};
  EXPECT_EQ(nvmlDeviceGetRunningProcessDetailList(node.gpu(), &list),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

// How many bytes of a struct filled with a mark a call has overwritten.
template <class Call>
std::size_t BytesWritten(Call call) {
  unsigned char bytes[256];
  std::size_t written = 0;
  for (const int mark : {0xA5, 0x5A}) {  // twice: a byte may be written with the mark's own value
    std::memset(bytes, mark, sizeof bytes);
    EXPECT_EQ(call(static_cast<void*>(bytes)), NVML_SUCCESS);
    for (std::size_t i = 0; i < sizeof bytes; ++i) {
      if (bytes[i] != mark && i + 1 > written) written = i + 1;
    }
  }
  return written;
}

TEST(OldNames, WriteNoByteMoreThanTheStructOfTheirTime) {
  TestNode node("dgx-a100-40");
  const nvmlDevice_t gpu = node.gpu();
  const auto pci = [](void* out) { return static_cast<nvmlPciInfo_t*>(out); };
  EXPECT_EQ(BytesWritten([&](void* out) { return nvmlDeviceGetPciInfo(gpu, pci(out)); }), 32);
  EXPECT_EQ(BytesWritten([&](void* out) { return nvmlDeviceGetPciInfo_v2(gpu, pci(out)); }), 36);
  EXPECT_EQ(BytesWritten([&](void* out) { return nvmlDeviceGetPciInfo_v3(gpu, pci(out)); }), 68);
  EXPECT_EQ(
      BytesWritten([&](void* out) { return nvmlDeviceGetNvLinkRemotePciInfo(gpu, 0, pci(out)); }),
      36);
  EXPECT_EQ(BytesWritten(
                [&](void* out) { return nvmlDeviceGetNvLinkRemotePciInfo_v2(gpu, 0, pci(out)); }),
            68);
}

TEST(OldNames, FabricVersion2EndsBeforeTheSummary) {
  TestNode node("hgx-h200");
  const nvmlDevice_t gpu = node.gpu();
  const auto fill = [gpu](unsigned int tag) {
    return [gpu, tag](void* out) {
      auto* fabric = static_cast<nvmlGpuFabricInfo_v3_t*>(out);
      fabric->version = tag;
      return nvmlDeviceGetGpuFabricInfoV(gpu, fabric);
    };
  };
  EXPECT_EQ(BytesWritten(fill(nvmlGpuFabricInfo_v2)), 36);
  EXPECT_EQ(BytesWritten(fill(nvmlGpuFabricInfo_v3)), 37);
}

TEST(Holes, BetweenFieldsStayTheCallers) {
  TestNode node("h200-vm");
  nvmlMemory_v2_t memory;
  std::memset(static_cast<void*>(&memory), 0xA5, sizeof memory);
  memory.version = nvmlMemory_v2;
  ASSERT_EQ(nvmlDeviceGetMemoryInfo_v2(node.gpu(), &memory), NVML_SUCCESS);
  unsigned char bytes[sizeof memory];
  std::memcpy(bytes, &memory, sizeof memory);
  for (int i = 4; i < 8; ++i) EXPECT_EQ(bytes[i], 0xA5);
  EXPECT_EQ(memory.reserved + memory.used + memory.free, memory.total);
}

TEST(Batch, EachFieldCarriesItsOwnCode) {
  TestNode node("h200-vm");
  nvmlFieldValue_t values[4] = {};
  values[0].fieldId = NVML_FI_DEV_ECC_CURRENT;
  values[1].fieldId = 0;
  values[2].fieldId = 100000;
  values[3].fieldId = NVML_FI_DEV_POWER_INSTANT;
  values[3].scopeId = NVML_POWER_SCOPE_MODULE;
  ASSERT_EQ(nvmlDeviceGetFieldValues(node.gpu(), 4, values), NVML_SUCCESS);
  EXPECT_EQ(values[0].nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(values[0].value.ullVal, 1);
  EXPECT_EQ(values[1].nvmlReturn, NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(values[2].nvmlReturn, NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(values[3].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
  values[3].scopeId = 3;
  ASSERT_EQ(nvmlDeviceGetFieldValues(node.gpu(), 4, values), NVML_SUCCESS);
  EXPECT_EQ(values[3].nvmlReturn, NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetFieldValues(node.gpu(), 0, values), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetFieldValues(node.gpu(), -1, values), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetFieldValues(node.gpu(), 1, nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace partita::sim::nvml
