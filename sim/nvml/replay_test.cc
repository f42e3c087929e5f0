// The conversation that was recorded with a real H200, held again with the simulated one: equal
// questions get equal codes, and equal values where they are facts of the machine.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/nvml/capture.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/test_node.h"

namespace partita::sim::nvml {
namespace {

struct Reply {
  int code;
  std::string out;  // as JSON; empty: a momentary reading, only its code is compared
};

using Numbers = std::vector<long long>;
using Question = std::function<Reply(nvmlDevice_t, const Numbers&)>;

// The JSON of the probe's writer.
std::string Json(unsigned long long value) { return std::to_string(value); }
std::string Json(const std::vector<unsigned long long>& values) {
  std::string text = "[";
  for (const auto value : values) text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}
std::string Json(const std::string& text) { return "\"" + text + "\""; }

template <class T>
Reply Answer(nvmlReturn_t code, const T& value) {
  return {code, code == NVML_SUCCESS ? Json(value) : "null"};
}

unsigned int At(const Numbers& numbers, std::size_t i) {
  return static_cast<unsigned int>(numbers.at(i));
}

// A call with one output of type T.
template <class T>
Question Value(nvmlReturn_t (*call)(nvmlDevice_t, T*)) {
  return [call](nvmlDevice_t gpu, const Numbers&) {
    T value{};
    const nvmlReturn_t code = call(gpu, &value);
    return Answer(code, static_cast<unsigned long long>(value));
  };
}

// The same with a number as second argument.
template <class T>
Question ValueOf(nvmlReturn_t (*call)(nvmlDevice_t, unsigned int, T*)) {
  return [call](nvmlDevice_t gpu, const Numbers& numbers) {
    T value{};
    const nvmlReturn_t code = call(gpu, At(numbers, 0), &value);
    return Answer(code, static_cast<unsigned long long>(value));
  };
}

template <class T>
Question Pair(nvmlReturn_t (*call)(nvmlDevice_t, T*, T*)) {
  return [call](nvmlDevice_t gpu, const Numbers&) {
    T first{}, second{};
    const nvmlReturn_t code = call(gpu, &first, &second);
    return Answer(code, std::vector<unsigned long long>{static_cast<unsigned long long>(first),
                                                        static_cast<unsigned long long>(second)});
  };
}

Question Text(nvmlReturn_t (*call)(nvmlDevice_t, char*, unsigned int)) {
  return [call](nvmlDevice_t gpu, const Numbers&) {
    char text[96] = "";
    const nvmlReturn_t code = call(gpu, text, sizeof text);
    return Answer(code, std::string(text));
  };
}

Question SystemText(nvmlReturn_t (*call)(char*, unsigned int)) {
  return [call](nvmlDevice_t, const Numbers&) {
    char text[96] = "";
    const nvmlReturn_t code = call(text, sizeof text);
    return Answer(code, std::string(text));
  };
}

template <class T>
Question SystemValue(nvmlReturn_t (*call)(T*)) {
  return [call](nvmlDevice_t, const Numbers&) {
    T value{};
    const nvmlReturn_t code = call(&value);
    return Answer(code, static_cast<unsigned long long>(value));
  };
}

// Only the code can be compared: the value is a reading.
Question Momentary(Question question) {
  return [question = std::move(question)](nvmlDevice_t gpu, const Numbers& numbers) {
    Reply reply = question(gpu, numbers);
    if (reply.code == NVML_SUCCESS) reply.out.clear();
    return reply;
  };
}

template <class Entry>
Question Processes(nvmlReturn_t (*call)(nvmlDevice_t, unsigned int*, Entry*)) {
  return [call](nvmlDevice_t gpu, const Numbers&) {
    unsigned int count = 0;
    const nvmlReturn_t code = call(gpu, &count, nullptr);
    return Answer(code, std::vector<unsigned long long>(count, 0));
  };
}

Reply Affinity(nvmlReturn_t code, const std::vector<unsigned long>& set) {
  return Answer(code, std::vector<unsigned long long>(set.begin(), set.end()));
}

Reply MemoryInfo(nvmlDevice_t gpu, const Numbers& numbers) {
  if (numbers.empty()) {
    nvmlMemory_t memory{};
    const nvmlReturn_t code = nvmlDeviceGetMemoryInfo(gpu, &memory);
    return {code, "{\"total\": " + Json(memory.total) + ", \"free\": " + Json(memory.free) +
                      ", \"used\": " + Json(memory.used) + "}"};
  }
  nvmlMemory_v2_t memory{};
  memory.version = At(numbers, 0);
  const nvmlReturn_t code = nvmlDeviceGetMemoryInfo_v2(gpu, &memory);
  return {code, "{\"version\": " + Json(memory.version) + ", \"total\": " + Json(memory.total) +
                    ", \"reserved\": " + Json(memory.reserved) +
                    ", \"free\": " + Json(memory.free) + ", \"used\": " + Json(memory.used) + "}"};
}

Reply PciInfo(nvmlDevice_t gpu, const Numbers&) {
  nvmlPciInfo_t pci{};
  const nvmlReturn_t code = nvmlDeviceGetPciInfo_v3(gpu, &pci);
  return {code, "{\"busIdLegacy\": " + Json(std::string(pci.busIdLegacy)) +
                    ", \"domain\": " + Json(pci.domain) + ", \"bus\": " + Json(pci.bus) +
                    ", \"device\": " + Json(pci.device) + ", \"pciDeviceId\": " +
                    Json(pci.pciDeviceId) + ", \"pciSubSystemId\": " + Json(pci.pciSubSystemId) +
                    ", \"busId\": " + Json(std::string(pci.busId)) + "}"};
}

Reply Utilization(nvmlDevice_t gpu, const Numbers&) {
  nvmlUtilization_t rates{};
  const nvmlReturn_t code = nvmlDeviceGetUtilizationRates(gpu, &rates);
  return {code, "{\"gpu\": " + Json(rates.gpu) + ", \"memory\": " + Json(rates.memory) + "}"};
}

Reply Ecc(nvmlDevice_t gpu, bool pending) {
  nvmlEnableState_t state[2] = {};
  const nvmlReturn_t code = nvmlDeviceGetEccMode(gpu, &state[0], &state[1]);
  return Answer(code, static_cast<unsigned long long>(state[pending ? 1 : 0]));
}

Reply Remapped(nvmlDevice_t gpu, const Numbers&) {
  unsigned int rows[4] = {};
  const nvmlReturn_t code = nvmlDeviceGetRemappedRows(gpu, &rows[0], &rows[1], &rows[2], &rows[3]);
  return Answer(code, std::vector<unsigned long long>(rows, rows + 4));
}

Reply Capability(nvmlDevice_t gpu, const Numbers&) {
  int major = 0, minor = 0;
  const nvmlReturn_t code = nvmlDeviceGetCudaComputeCapability(gpu, &major, &minor);
  return Answer(code, std::vector<unsigned long long>{static_cast<unsigned long long>(major),
                                                      static_cast<unsigned long long>(minor)});
}

std::map<std::string, Question> IdentityQuestions() {
  return {
      {"nvmlDeviceGetName", Text(nvmlDeviceGetName)},
      {"nvmlDeviceGetUUID", Text(nvmlDeviceGetUUID)},
      {"nvmlDeviceGetSerial", Text(nvmlDeviceGetSerial)},
      {"nvmlDeviceGetBoardPartNumber", Text(nvmlDeviceGetBoardPartNumber)},
      {"nvmlDeviceGetVbiosVersion", Text(nvmlDeviceGetVbiosVersion)},
      {"nvmlDeviceGetInforomImageVersion", Text(nvmlDeviceGetInforomImageVersion)},
      {"nvmlDeviceGetInforomVersion",
       [](nvmlDevice_t gpu, const Numbers& numbers) {
         char text[16] = "";
         const nvmlReturn_t code =
             nvmlDeviceGetInforomVersion(gpu, At(numbers, 0), text, sizeof text);
         return Answer(code, std::string(text));
       }},
      {"nvmlDeviceGetInforomConfigurationChecksum",
       Value(nvmlDeviceGetInforomConfigurationChecksum)},
      {"nvmlDeviceGetIndex", Value(nvmlDeviceGetIndex)},
      {"nvmlDeviceGetMinorNumber", Value(nvmlDeviceGetMinorNumber)},
      {"nvmlDeviceGetModuleId", Value(nvmlDeviceGetModuleId)},
      {"nvmlDeviceGetPciInfo", PciInfo},
      {"nvmlDeviceGetPciInfo_v3", PciInfo},
      {"nvmlDeviceGetBrand", Value(nvmlDeviceGetBrand)},
      {"nvmlDeviceGetArchitecture", Value(nvmlDeviceGetArchitecture)},
      {"nvmlDeviceGetCudaComputeCapability", Capability},
      {"nvmlDeviceGetBoardId", Value(nvmlDeviceGetBoardId)},
      {"nvmlDeviceGetMultiGpuBoard", Value(nvmlDeviceGetMultiGpuBoard)},
      {"nvmlDeviceGetNumGpuCores", Value(nvmlDeviceGetNumGpuCores)},
      {"nvmlDeviceGetMemoryBusWidth", Value(nvmlDeviceGetMemoryBusWidth)},
      {"nvmlDeviceGetIrqNum", Value(nvmlDeviceGetIrqNum)},
      {"nvmlDeviceGetBusType", Value(nvmlDeviceGetBusType)},
      {"nvmlDeviceGetNumFans", Value(nvmlDeviceGetNumFans)},
      {"nvmlDeviceGetGspFirmwareMode", Pair(nvmlDeviceGetGspFirmwareMode)},
      {"nvmlDeviceGetGspFirmwareVersion",
       [](nvmlDevice_t gpu, const Numbers&) {
         char text[NVML_GSP_FIRMWARE_VERSION_BUF_SIZE] = "";
         const nvmlReturn_t code = nvmlDeviceGetGspFirmwareVersion(gpu, text);
         return Answer(code, std::string(text));
       }},
      {"nvmlDeviceGetMaxPcieLinkGeneration", Value(nvmlDeviceGetMaxPcieLinkGeneration)},
      {"nvmlDeviceGetMaxPcieLinkWidth", Value(nvmlDeviceGetMaxPcieLinkWidth)},
      {"nvmlDeviceGetCurrPcieLinkGeneration", Value(nvmlDeviceGetCurrPcieLinkGeneration)},
      {"nvmlDeviceGetCurrPcieLinkWidth", Value(nvmlDeviceGetCurrPcieLinkWidth)},
      {"nvmlSystemGetDriverVersion", SystemText(nvmlSystemGetDriverVersion)},
      {"nvmlSystemGetNVMLVersion", SystemText(nvmlSystemGetNVMLVersion)},
      {"nvmlSystemGetCudaDriverVersion", SystemValue(nvmlSystemGetCudaDriverVersion)},
      {"nvmlSystemGetCudaDriverVersion_v2", SystemValue(nvmlSystemGetCudaDriverVersion_v2)},
      {"nvmlUnitGetCount", SystemValue(nvmlUnitGetCount)},
      {"nvmlGetExcludedDeviceCount", SystemValue(nvmlGetExcludedDeviceCount)},
      {"nvmlDeviceGetCount", SystemValue(nvmlDeviceGetCount_v2)},
  };
}

std::map<std::string, Question> ModeAndLinkQuestions() {
  return {
      {"nvmlDeviceGetVirtualizationMode", Value(nvmlDeviceGetVirtualizationMode)},
      {"nvmlDeviceGetPersistenceMode", Value(nvmlDeviceGetPersistenceMode)},
      {"nvmlDeviceGetComputeMode", Value(nvmlDeviceGetComputeMode)},
      {"nvmlDeviceGetEccMode", Pair(nvmlDeviceGetEccMode)},
      {"nvmlDeviceGetCurrentEccMode",
       [](nvmlDevice_t gpu, const Numbers&) { return Ecc(gpu, false); }},
      {"nvmlDeviceGetPendingEccMode",
       [](nvmlDevice_t gpu, const Numbers&) { return Ecc(gpu, true); }},
      {"nvmlDeviceGetAddressingMode",
       [](nvmlDevice_t gpu, const Numbers&) {
         nvmlDeviceAddressingMode_v1_t mode = {nvmlDeviceAddressingMode_v1, 99};
         const nvmlReturn_t code = nvmlDeviceGetAddressingMode(gpu, &mode);
         return Answer(code, static_cast<unsigned long long>(mode.value));
       }},
      {"nvmlDeviceGetTopologyCommonAncestor",
       [](nvmlDevice_t gpu, const Numbers&) {
         nvmlGpuTopologyLevel_t level{};
         const nvmlReturn_t code = nvmlDeviceGetTopologyCommonAncestor(gpu, gpu, &level);
         return Answer(code, static_cast<unsigned long long>(level));
       }},
      {"nvmlDeviceGetTopologyNearestGpus",
       [](nvmlDevice_t gpu, const Numbers& numbers) {
         unsigned int count = 0;
         const nvmlReturn_t code =
             nvmlDeviceGetTopologyNearestGpus(gpu, At(numbers, 0), &count, nullptr);
         return Answer(code, static_cast<unsigned long long>(count));
       }},
      {"nvmlDeviceGetP2PStatus",
       [](nvmlDevice_t gpu, const Numbers& numbers) {
         nvmlGpuP2PStatus_t status{};
         const nvmlReturn_t code = nvmlDeviceGetP2PStatus(gpu, gpu, At(numbers, 0), &status);
         return Answer(code, static_cast<unsigned long long>(status));
       }},
      {"nvmlDeviceGetNvLinkState", ValueOf(nvmlDeviceGetNvLinkState)},
      {"nvmlDeviceGetNvLinkVersion", ValueOf(nvmlDeviceGetNvLinkVersion)},
      {"nvmlDeviceGetNvLinkRemoteDeviceType", ValueOf(nvmlDeviceGetNvLinkRemoteDeviceType)},
      {"nvmlDeviceGetNvLinkRemotePciInfo",
       [](nvmlDevice_t gpu, const Numbers& numbers) {
         nvmlPciInfo_t pci{};
         return Reply{nvmlDeviceGetNvLinkRemotePciInfo_v2(gpu, At(numbers, 0), &pci), "null"};
       }},
      {"nvmlDeviceGetNvLinkCapability",
       [](nvmlDevice_t gpu, const Numbers& numbers) {
         unsigned int result = 0;
         const nvmlReturn_t code =
             nvmlDeviceGetNvLinkCapability(gpu, At(numbers, 0), At(numbers, 1), &result);
         return Answer(code, static_cast<unsigned long long>(result));
       }},
      {"nvmlDeviceGetGpuFabricInfo",
       [](nvmlDevice_t gpu, const Numbers&) {
         nvmlGpuFabricInfo_t fabric{};
         return Answer(nvmlDeviceGetGpuFabricInfo(gpu, &fabric), 0ULL);
       }},
      {"nvmlDeviceGetGpuFabricInfoV",
       [](nvmlDevice_t gpu, const Numbers&) {
         nvmlGpuFabricInfo_v3_t fabric{};
         fabric.version = nvmlGpuFabricInfo_v2;
         return Answer(nvmlDeviceGetGpuFabricInfoV(gpu, &fabric), 0ULL);
       }},
      {"nvmlDeviceGetNumaNodeId", Value(nvmlDeviceGetNumaNodeId)},
      {"nvmlDeviceGetCpuAffinity",
       [](nvmlDevice_t gpu, const Numbers& numbers) {
         std::vector<unsigned long> set(At(numbers, 0), ~0UL);
         return Affinity(nvmlDeviceGetCpuAffinity(gpu, At(numbers, 0), set.data()), set);
       }},
      {"nvmlDeviceGetCpuAffinityWithinScope",
       [](nvmlDevice_t gpu, const Numbers& numbers) {
         std::vector<unsigned long> set(At(numbers, 0), ~0UL);
         return Affinity(
             nvmlDeviceGetCpuAffinityWithinScope(gpu, At(numbers, 0), set.data(), At(numbers, 1)),
             set);
       }},
      {"nvmlDeviceGetMemoryAffinity",
       [](nvmlDevice_t gpu, const Numbers& numbers) {
         std::vector<unsigned long> set(At(numbers, 0), ~0UL);
         return Affinity(
             nvmlDeviceGetMemoryAffinity(gpu, At(numbers, 0), set.data(), At(numbers, 1)), set);
       }},
  };
}

std::map<std::string, Question> ReadingQuestions() {
  return {
      {"nvmlDeviceGetMemoryInfo", MemoryInfo},
      {"nvmlDeviceGetBAR1MemoryInfo",
       [](nvmlDevice_t gpu, const Numbers&) {
         nvmlBAR1Memory_t memory{};
         const nvmlReturn_t code = nvmlDeviceGetBAR1MemoryInfo(gpu, &memory);
         EXPECT_EQ(memory.bar1Total, 274877906944);
         return Reply{code, ""};
       }},
      {"nvmlDeviceGetUtilizationRates", Utilization},
      {"nvmlDeviceGetTemperature", Momentary(ValueOf(nvmlDeviceGetTemperature))},
      {"nvmlDeviceGetTemperatureThreshold", ValueOf(nvmlDeviceGetTemperatureThreshold)},
      {"nvmlDeviceGetPowerUsage", Momentary(Value(nvmlDeviceGetPowerUsage))},
      {"nvmlDeviceGetEnforcedPowerLimit", Value(nvmlDeviceGetEnforcedPowerLimit)},
      {"nvmlDeviceGetPowerManagementLimit", Value(nvmlDeviceGetPowerManagementLimit)},
      {"nvmlDeviceGetPowerManagementDefaultLimit", Value(nvmlDeviceGetPowerManagementDefaultLimit)},
      {"nvmlDeviceGetPowerManagementLimitConstraints",
       Pair(nvmlDeviceGetPowerManagementLimitConstraints)},
      {"nvmlDeviceGetTotalEnergyConsumption",
       Momentary(Value(nvmlDeviceGetTotalEnergyConsumption))},
      {"nvmlDeviceGetClockInfo", ValueOf(nvmlDeviceGetClockInfo)},
      {"nvmlDeviceGetMaxClockInfo", ValueOf(nvmlDeviceGetMaxClockInfo)},
      {"nvmlDeviceGetPerformanceState", Value(nvmlDeviceGetPerformanceState)},
      {"nvmlDeviceGetPowerState", Value(nvmlDeviceGetPowerState)},
      {"nvmlDeviceGetCurrentClocksEventReasons", Value(nvmlDeviceGetCurrentClocksEventReasons)},
      {"nvmlDeviceGetSupportedClocksEventReasons", Value(nvmlDeviceGetSupportedClocksEventReasons)},
      {"nvmlDeviceGetFanSpeed", Value(nvmlDeviceGetFanSpeed)},
      {"nvmlDeviceGetTotalEccErrors",
       [](nvmlDevice_t gpu, const Numbers& numbers) {
         unsigned long long count = 99;
         const nvmlReturn_t code =
             nvmlDeviceGetTotalEccErrors(gpu, At(numbers, 0), At(numbers, 1), &count);
         return Answer(code, count);
       }},
      {"nvmlDeviceGetRemappedRows", Remapped},
      {"nvmlDeviceGetComputeRunningProcesses", Processes(nvmlDeviceGetComputeRunningProcesses)},
      {"nvmlDeviceGetComputeRunningProcesses_v2",
       Processes(nvmlDeviceGetComputeRunningProcesses_v2)},
      {"nvmlDeviceGetComputeRunningProcesses_v3",
       Processes(nvmlDeviceGetComputeRunningProcesses_v3)},
      {"nvmlDeviceGetGraphicsRunningProcesses", Processes(nvmlDeviceGetGraphicsRunningProcesses)},
      {"nvmlDeviceGetGraphicsRunningProcesses_v2",
       Processes(nvmlDeviceGetGraphicsRunningProcesses_v2)},
      {"nvmlDeviceGetGraphicsRunningProcesses_v3",
       Processes(nvmlDeviceGetGraphicsRunningProcesses_v3)},
      {"nvmlDeviceGetMPSComputeRunningProcesses",
       Processes(nvmlDeviceGetMPSComputeRunningProcesses)},
      {"nvmlDeviceGetMPSComputeRunningProcesses_v2",
       Processes(nvmlDeviceGetMPSComputeRunningProcesses_v2)},
      {"nvmlDeviceGetMPSComputeRunningProcesses_v3",
       Processes(nvmlDeviceGetMPSComputeRunningProcesses_v3)},
      {"nvmlDeviceGetRunningProcessDetailList",
       [](nvmlDevice_t gpu, const Numbers& numbers) {
         nvmlProcessDetailList_v1_t list = {At(numbers, 0), At(numbers, 1), 0, nullptr};
         const nvmlReturn_t code = nvmlDeviceGetRunningProcessDetailList(gpu, &list);
         return Answer(code, std::vector<unsigned long long>(list.numProcArrayEntries, 0));
       }},
  };
}

class Replay : public testing::Test {
 protected:
  Replay() : node_("h200-vm"), capture_(ReadCapture("data/captures/h200/nvml-probe.jsonl")) {}

  // Asks what the table knows; returns how many lines of the capture that was.
  int Ask(const std::map<std::string, Question>& questions) {
    std::set<std::string> asked;
    int lines = 0;
    bool busy = false;  // while the probe's own process worked on the GPU
    for (const Exchange& exchange : capture_) {
      if (exchange.call == "holder") busy = true;
      if (exchange.call == "holder.pid") busy = false;
      const auto question = questions.find(exchange.call);
      if (busy || question == questions.end()) continue;
      const Reply reply = question->second(node_.gpu(), exchange.numbers);
      EXPECT_EQ(reply.code, exchange.code) << exchange.call << ", line " << exchange.line;
      if (!reply.out.empty() && reply.code == exchange.code) {
        EXPECT_EQ(reply.out, exchange.out) << exchange.call << ", line " << exchange.line;
      }
      asked.insert(exchange.call);
      ++lines;
    }
    EXPECT_EQ(asked.size(), questions.size()) << "a call of the table is not in the capture";
    return lines;
  }

  TestNode node_;
  std::vector<Exchange> capture_;
};

TEST_F(Replay, IdentityIsThatOfTheCapturedBoard) { EXPECT_GT(Ask(IdentityQuestions()), 35); }

TEST_F(Replay, ModesAndLinksAreThoseOfTheCapturedMachine) {
  EXPECT_GT(Ask(ModeAndLinkQuestions()), 40);
}

TEST_F(Replay, AnIdleGpuReadsLikeTheCapturedOne) { EXPECT_GT(Ask(ReadingQuestions()), 45); }

// Counters of kinds that the simulator does not keep: a driver answers them, we do not yet.
bool IsNotKept(unsigned int field) {
  static constexpr struct {
    unsigned int first, last;
  } kRanges[] = {{74, 81},   {94, 95},   {147, 147}, {169, 169},
                 {173, 183}, {193, 198}, {228, 229}, {269, 271}};
  for (const auto& range : kRanges) {
    if (field >= range.first && field <= range.last) return true;
  }
  return false;
}

TEST_F(Replay, EveryFieldHasTheCodeAndTypeOfTheCapture) {
  int fields = 0;
  for (const Exchange& exchange : capture_) {
    if (exchange.call != "field") continue;
    ++fields;
    nvmlFieldValue_t value{};
    value.fieldId = At(exchange.numbers, 0);
    ASSERT_EQ(nvmlDeviceGetFieldValues(node_.gpu(), 1, &value), NVML_SUCCESS);
    int code = -1, type = -1;
    unsigned long long number = 0;
    ASSERT_GE(std::sscanf(exchange.out.c_str(), "{\"rc\": %d, \"type\": %d, \"value\": %llu", &code,
                          &type, &number),
              2);
    if (IsNotKept(value.fieldId)) {
      EXPECT_EQ(value.nvmlReturn, NVML_ERROR_NOT_SUPPORTED) << value.fieldId;
      continue;
    }
    EXPECT_EQ(value.nvmlReturn, code) << value.fieldId;
    if (code != NVML_SUCCESS) continue;
    EXPECT_EQ(value.valueType, type) << value.fieldId;
    static const std::set<unsigned int> momentary = {82, 83, 185, 186, 191};
    if (momentary.contains(value.fieldId)) continue;
    EXPECT_EQ(value.value.ullVal, number) << value.fieldId;
  }
  EXPECT_EQ(fields, 289);
}

TEST_F(Replay, ErrorTextsAreTheDrivers) {
  int texts = 0;
  for (const Exchange& exchange : capture_) {
    if (exchange.call != "text") continue;
    ++texts;
    const auto code = static_cast<nvmlReturn_t>(exchange.numbers.at(0));
    EXPECT_EQ(Json(std::string(nvmlErrorString(code))), exchange.out);
  }
  EXPECT_EQ(texts, 36);
}

}  // namespace
}  // namespace partita::sim::nvml
