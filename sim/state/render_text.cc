// As driver 580.159.04 prints them beside an H200 (data/captures/h200/system.txt).
#include "sim/state/render_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/state/mig.h"

namespace partita::sim {
namespace {

constexpr char kParams[] =
    "ResmanDebugLevel: 4294967295\n"
    "RmLogonRC: 1\n"
    "ModifyDeviceFiles: 1\n"
    "DeviceFileUID: 0\n"
    "DeviceFileGID: 0\n"
    "DeviceFileMode: 438\n"
    "InitializeSystemMemoryAllocations: 1\n"
    "UsePageAttributeTable: 4294967295\n"
    "EnableMSI: 1\n"
    "EnablePCIeGen3: 0\n"
    "MemoryPoolSize: 0\n"
    "KMallocHeapMaxSize: 0\n"
    "VMallocHeapMaxSize: 0\n"
    "IgnoreMMIOCheck: 0\n"
    "EnableStreamMemOPs: 0\n"
    "EnableUserNUMAManagement: 1\n"
    "NvLinkDisable: 0\n"
    "RmProfilingAdminOnly: 1\n"
    "PreserveVideoMemoryAllocations: 0\n"
    "EnableS0ixPowerManagement: 0\n"
    "S0ixPowerManagementVideoMemoryThreshold: 256\n"
    "DynamicPowerManagement: 3\n"
    "DynamicPowerManagementVideoMemoryThreshold: 200\n"
    "RegisterPCIDriver: 1\n"
    "EnablePCIERelaxedOrderingMode: 0\n"
    "EnableResizableBar: 0\n"
    "EnableGpuFirmware: 18\n"
    "EnableGpuFirmwareLogs: 2\n"
    "RmNvlinkBandwidthLinkCount: 0\n"
    "EnableDbgBreakpoint: 0\n"
    "OpenRmEnableUnsupportedGpus: 1\n"
    "DmaRemapPeerMmio: 1\n"
    "ImexChannelCount: 2048\n"
    "CreateImexChannel0: 0\n"
    "GrdmaPciTopoCheckOverride: 0\n"
    "CoherentGPUMemoryMode: \"\"\n"
    "RegistryDwords: \"\"\n"
    "RegistryDwordsPerDevice: \"\"\n"
    "RmMsg: \"\"\n"
    "GpuBlacklist: \"\"\n"
    "TemporaryFilePath: \"\"\n"
    "ExcludedGpus: \"\"\n";

constexpr char kPower[] =
    "Runtime D3 status:          Disabled by default\n"
    "Video Memory:               Active\n"
    "\n"
    "GPU Hardware Support:\n"
    " Video Memory Self Refresh: Not Supported\n"
    " Video Memory Off:          Not Supported\n"
    "\n"
    "S0ix Power Management:\n"
    " Platform Support:          Not Supported\n"
    " Status:                    Disabled\n"
    "\n"
    "Notebook Dynamic Boost:     Not Supported\n";

}  // namespace

void Text::Add(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(bytes + size, capacity - size, format, arguments);
  va_end(arguments);
  if (length < 0 || static_cast<size_t>(length) >= capacity - size) {
    overflow = true;
    return;
  }
  size += static_cast<size_t>(length);
}

void WriteVersion(const Machine& machine, Text* out) {
  if (machine.open_kernel_module != 0) {
    out->Add(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build  (partita@sim) "
        " \n",
        machine.driver_version);
  } else {
    out->Add("NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  (partita@sim)\n",
             machine.driver_version);
  }
  out->Add("GCC version:  gcc version 12.2.0 (GCC) \n");
}

void WriteParams(Text* out) { out->Add("%s", kParams); }

void WriteGpuInformation(const Machine& machine, const Board& board, Text* out) {
  char bios[sizeof board.vbios];
  for (size_t i = 0; i < sizeof bios; ++i) {
    bios[i] = static_cast<char>(tolower(static_cast<unsigned char>(board.vbios[i])));
  }
  bios[sizeof bios - 1] = '\0';
  out->Add("Model: \t\t %s\n", board.name);
  out->Add("IRQ:   \t\t %u\n", board.irq.known != 0 ? board.irq.value : 0);
  out->Add("GPU UUID: \t %s\n", board.uuid);
  out->Add("Video BIOS: \t %s\n", bios[0] != '\0' ? bios : "??.??.??.??.??");
  out->Add("Bus Type: \t PCIe\n");
  out->Add("DMA Size: \t 52 bits\n");
  out->Add("DMA Mask: \t 0xfffffffffffff\n");
  out->Add("Bus Location: \t %04x:%02x:%02x.0\n", board.pci.domain, board.pci.bus,
           board.pci.device);
  out->Add("Device Minor: \t %u\n", board.minor);
  const bool gsp = board.gsp_firmware.known != 0 && board.gsp_firmware.value != 0;
  out->Add("GPU Firmware: \t %s\n", gsp ? machine.driver_version : "N/A");
  out->Add("GPU Excluded:\t No\n");
}

void WriteGpuPower(Text* out) { out->Add("%s", kPower); }

// The numbers that Linux fixes, the driver's, and a line that programs look for after them.
void WriteDevices(const Machine& machine, bool loaded, Text* out) {
  out->Add("Character devices:\n  1 mem\n  4 /dev/vc/0\n  4 tty\n  4 ttyS\n  5 /dev/tty\n");
  out->Add("  5 /dev/console\n  5 /dev/ptmx\n  7 vcs\n 10 misc\n 13 input\n128 ptm\n136 pts\n");
  if (loaded) {
    out->Add("%3u nvidia\n%3u nvidiactl\n", machine.major_gpu, machine.major_gpu);
    out->Add("%3u nvidia-uvm\n", machine.major_uvm);
    out->Add("%3u nvidia-nvswitch\n", machine.major_nvswitch);
    out->Add("%3u nvidia-nvlink\n", machine.major_nvlink);
    out->Add("%3u nvidia-caps\n", machine.major_caps);
    out->Add("%3u nvidia-caps-imex-channels\n", machine.major_imex);
  }
  out->Add("\nBlock devices:\n  7 loop\n259 blkext\n");
}

void WriteModules(bool loaded, Text* out) {
  // Every machine has some other module; nvidia-mig-parted 0.13 relies on one line at least.
  out->Add("loop 40960 - - Live 0x0000000000000000\n");
  if (!loaded) return;
  out->Add("nvidia_uvm 1830912 - - Live 0xffffffffc080c000 (O)\n");
  out->Add("nvidia 14299136 - - Live 0xffffffffc0400000 (O)\n");
}

void WriteMigMinors(Text* out) {
  out->Add("config %u\nmonitor %u\n", kMigConfigMinor, kMigMonitorMinor);
  for (uint32_t gpu = 0; gpu < kMaxMigMinors; ++gpu) {
    for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
      out->Add("gpu%u/gi%u/access %u\n", gpu, gi, GpuInstanceMinor(gpu, gi));
      for (uint32_t ci = 0; ci < kMaxComputeInstances; ++ci) {
        out->Add("gpu%u/gi%u/ci%u/access %u\n", gpu, gi, ci, ComputeInstanceMinor(gpu, gi, ci));
      }
    }
  }
}

void WriteCapability(uint32_t minor, uint32_t mode, Text* out) {
  out->Add("DeviceFileMinor: %u\nDeviceFileMode: %u\nDeviceFileModify: 1\n", minor, mode);
}

}  // namespace partita::sim
