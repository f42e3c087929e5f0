// nvidia-smi for a simulated node: what other programs call, and what a person looks at. It asks
// the simulated driver library like any client and prints what the real tool prints on driver 580.
#include <string>
#include <vector>

#include "sim/smi/commands.h"
#include "sim/smi/options.h"
#include "sim/smi/output.h"

namespace partita::sim::smi {
namespace {

constexpr OptionRow kRows[] = {
    {"-h", "--help", OptionRow::Takes::kNothing},
    {"-L", "--list-gpus", OptionRow::Takes::kNothing},
    {"-i", "--id", OptionRow::Takes::kValue},
    {"-r", "--gpu-reset", OptionRow::Takes::kNothing},
    {"-mig", "--multi-instance-gpu", OptionRow::Takes::kValue},
    {"-c", "--compute-mode", OptionRow::Takes::kValue},
    {"-pm", "--persistence-mode", OptionRow::Takes::kValue},
    {"", "--query-gpu", OptionRow::Takes::kValue},
    {"", "--query-compute-apps", OptionRow::Takes::kValue},
    {"", "--format", OptionRow::Takes::kValue},
};

constexpr char kHelp[] =
    R"(nvidia-smi of a simulated node: the part of the real tool that other programs call.

    nvidia-smi [-i ID[,ID...]]                show the GPUs, their MIG devices and processes
    nvidia-smi -L                             list GPUs and MIG devices with their UUIDs
    nvidia-smi --query-gpu=FIELD[,FIELD...] --format=csv[,noheader][,nounits] [-i ID]
    nvidia-smi --query-compute-apps=FIELD[,FIELD...] --format=csv[,noheader][,nounits]
    nvidia-smi -mig 0|1 [-i ID]               MIG mode
    nvidia-smi -c 0..3|NAME [-i ID]           compute mode
    nvidia-smi -pm 0|1 [-i ID]                persistence mode
    nvidia-smi -r [-i ID]                     reset GPUs that nobody uses
    nvidia-smi mig -lgip|-lgipp|-lgi|-lci|-lcip [-i ID] [-gi ID]
    nvidia-smi mig -cgi PROFILE[:START][,...] [-C] [-i ID]
    nvidia-smi mig -cci [PROFILE[,...]] [-gi ID] [-i ID]
    nvidia-smi mig -dci [-ci ID] [-gi ID] [-i ID], -dgi [-gi ID] [-i ID]
    nvidia-smi compute-policy -l | --set-timeslice 0..3 [-i ID]

ID is an index, a UUID, a bus id or a serial number. The exit status is the NVML return code of what
failed, 2 for a command line that is not understood, 255 for a reset that was refused.
)";

// 0, or the exit status after a message.
int Connect(Nvml* nvml) {
  if (!LoadNvml(nvml)) {
    Say("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n");
    return NVML_ERROR_LIBRARY_NOT_FOUND;
  }
  const nvmlReturn_t ready = nvml->nvmlInit_v2();
  if (ready == NVML_SUCCESS) return 0;
  if (ready == NVML_ERROR_DRIVER_NOT_LOADED) {
    Say("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n");
  } else {
    Say("Failed to initialize NVML: {}\n", nvml->ErrorText(ready));
  }
  return ready;
}

int RunOptions(const Nvml& nvml, const Options& options) {
  const Ids ids = options.Get("-i");
  if (options.Has("-L")) {
    if (ids) return UsageError("-i", "is not valid for this command.");
    return ListGpus(nvml);
  }
  if (options.Has("-r")) return ResetGpus(nvml, ids);
  if (const auto mode = options.Get("-mig")) return SetMigMode(nvml, ids, *mode);
  if (const auto mode = options.Get("-c")) return SetComputeMode(nvml, ids, *mode);
  if (const auto mode = options.Get("-pm")) return SetPersistenceMode(nvml, ids, *mode);
  const std::string format = options.Get("--format").value_or("");
  if (const auto fields = options.Get("--query-gpu")) return QueryGpus(nvml, ids, *fields, format);
  if (const auto fields = options.Get("--query-compute-apps"))
    return QueryComputeApps(nvml, ids, *fields, format);
  if (options.Has("--format")) return UsageError("--format", "is not valid for this command.");
  return ShowTable(nvml, ids);
}

int Run(std::span<const std::string> words) {
  Nvml nvml;
  const bool mig = !words.empty() && words[0] == "mig";
  const bool policy = !words.empty() && words[0] == "compute-policy";
  std::optional<Options> options;
  if (!mig && !policy) {
    // What is wrong with the command line is said even where there is no driver.
    options = Options::Parse(kRows, words);
    if (!options) return NVML_ERROR_INVALID_ARGUMENT;
    if (options->Has("-h")) {
      Say("{}", kHelp);
      return 0;
    }
  }
  if (const int status = Connect(&nvml); status != 0) return status;
  int status = 0;
  if (mig) {
    status = RunMig(nvml, words.subspan(1));
  } else if (policy) {
    status = RunComputePolicy(nvml, words.subspan(1));
  } else {
    status = RunOptions(nvml, *options);
  }
  nvml.nvmlShutdown();
  return status;
}

}  // namespace
}  // namespace partita::sim::smi

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return partita::sim::smi::Run(words);
}
