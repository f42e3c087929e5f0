// The listings of `mig`. -lgip, -lgipp and the empty ones are captured from an H200 on driver 580;
// -lgi, -lci and -lcip follow published listings of driver 570 and 580.
#include "sim/smi/mig.h"
#include "sim/smi/output.h"

namespace partita::sim::smi {
namespace {

std::string Gibibytes(unsigned long long mebibytes) {
  return fmt::format("{:.2f}", static_cast<double>(mebibytes) / 1024.0);
}

void SayGpuProfile(const Nvml& nvml, const Device& device, const GpuProfile& profile) {
  // What a GPU without MIG has left is everything.
  const unsigned int left =
      Ask<unsigned int>(nvml.nvmlDeviceGetGpuInstanceRemainingCapacity, device.handle, profile.id)
          .value_or(profile.instanceCount);
  Say("|{:>4}  {:<18}{:>4}{:>6}/{:<9}{:<11}{:<7}{:<7}{:<6}{:<4}|\n", device.index, profile.name,
      profile.id, left, profile.instanceCount, Gibibytes(profile.memorySizeMB),
      profile.isP2pSupported != 0 ? "Yes" : "No", profile.multiprocessorCount, profile.decoderCount,
      profile.encoderCount);
  Say("|{:>64}{:>6}{:>6}   |\n"
      "+-------------------------------------------------------------------------------+\n",
      profile.copyEngineCount, profile.jpegCount, profile.ofaCount);
}

int NothingFound(const Nvml& nvml, std::string_view what) {
  Say("No {} found: {}\n", what, nvml.ErrorText(NVML_ERROR_NOT_FOUND));
  return NVML_ERROR_NOT_FOUND;
}

void SayComputeProfile(const Nvml& nvml,
                       const Device& device,
                       const GpuInstance& instance,
                       const ComputeProfile& profile,
                       bool is_default) {
  const unsigned int left =
      Ask<unsigned int>(nvml.nvmlGpuInstanceGetComputeInstanceRemainingCapacity, instance.handle,
                        profile.id)
          .value_or(0);
  Say("|{:>4}{:>7}       {:<18}{:>4}{:<5}{:>2}/{:<12}{:<9}{:>2}{:>6}{:>6}   |\n", device.index,
      instance.info.id, profile.name, profile.id, is_default ? "*" : "", left,
      profile.instanceCount, profile.multiprocessorCount, profile.sharedDecoderCount,
      profile.sharedEncoderCount, profile.sharedOfaCount);
  Say("|{:>71}{:>6}         |\n"
      "+--------------------------------------------------------------------------------------+\n",
      profile.sharedCopyEngineCount, profile.sharedJpegCount);
}

}  // namespace

int ListGpuInstanceProfiles(const Nvml& nvml, const std::vector<Device>& devices) {
  bool any = false;
  for (const Device& device : devices) {
    for (const GpuProfile& profile : GpuProfilesOf(nvml, device.handle)) {
      if (!any) {
        Say("{}",
            "+-------------------------------------------------------------------------------+\n"
            "| GPU instance profiles:                                                        |\n"
            "| GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC  |\n"
            "|                                Free/Total   GiB              CE    JPEG  OFA  |\n"
            "|===============================================================================|\n");
      }
      any = true;
      SayGpuProfile(nvml, device, profile);
    }
  }
  if (!any) Say("No MIG-supported devices found.\n");
  return 0;
}

int ListPlacements(const Nvml& nvml, const std::vector<Device>& devices) {
  bool any = false;
  for (const Device& device : devices) {
    for (const GpuProfile& profile : GpuProfilesOf(nvml, device.handle)) {
      unsigned int count = 0;
      if (nvml.nvmlDeviceGetGpuInstancePossiblePlacements_v2(device.handle, profile.id, nullptr,
                                                             &count) != NVML_SUCCESS ||
          count == 0)
        continue;
      std::vector<nvmlGpuInstancePlacement_t> placements(count);
      if (nvml.nvmlDeviceGetGpuInstancePossiblePlacements_v2(
              device.handle, profile.id, placements.data(), &count) != NVML_SUCCESS)
        continue;
      std::string starts;
      for (const nvmlGpuInstancePlacement_t& placement : placements)
        starts += fmt::format("{}{}", starts.empty() ? "" : ",", placement.start);
      Say("GPU {:>2} Profile ID {:>2} {}: {{{}}}:{}\n", device.index, profile.id,
          count == 1 ? "Placement " : "Placements", starts, placements[0].size);
      any = true;
    }
  }
  if (!any) Say("No MIG-supported devices found.\n");
  return 0;
}

int ListGpuInstances(const Nvml& nvml, const std::vector<Device>& devices) {
  bool any = false;
  for (const Device& device : devices) {
    for (const GpuInstance& instance : GpuInstancesOf(nvml, device.handle, {})) {
      if (!any) {
        Say("{}",
            "+---------------------------------------------------------+\n"
            "| GPU instances:                                          |\n"
            "| GPU   Name               Profile  Instance   Placement  |\n"
            "|                            ID       ID       Start:Size |\n"
            "|=========================================================|\n");
      }
      any = true;
      Say("|{:>4}  {:<18}{:>6}{:>9}{:>11}:{:<6}|\n"
          "+---------------------------------------------------------+\n",
          device.index, instance.profile.name, instance.profile.id, instance.info.id,
          instance.info.placement.start, instance.info.placement.size);
    }
  }
  return any ? 0 : NothingFound(nvml, "GPU instances");
}

int ListComputeInstances(const Nvml& nvml,
                         const std::vector<Device>& devices,
                         std::span<const unsigned int> gpu_instances) {
  bool any = false;
  for (const Device& device : devices) {
    for (const GpuInstance& gpu_instance : GpuInstancesOf(nvml, device.handle, gpu_instances)) {
      for (const ComputeInstance& instance : ComputeInstancesOf(nvml, gpu_instance, {})) {
        if (!any) {
          Say("{}",
              "+--------------------------------------------------------------------+\n"
              "| Compute instances:                                                 |\n"
              "| GPU     GPU       Name             Profile   Instance   Placement  |\n"
              "|       Instance                       ID        ID       Start:Size |\n"
              "|         ID                                                         |\n"
              "|====================================================================|\n");
        }
        any = true;
        Say("|{:>4}{:>7}       {:<18}{:>4}{:>10}{:>11}:{:<6}|\n"
            "+--------------------------------------------------------------------+\n",
            device.index, gpu_instance.info.id, instance.profile.name, instance.profile.id,
            instance.info.id, instance.info.placement.start, instance.info.placement.size);
      }
    }
  }
  return any ? 0 : NothingFound(nvml, "compute instances");
}

int ListComputeInstanceProfiles(const Nvml& nvml,
                                const std::vector<Device>& devices,
                                std::span<const unsigned int> gpu_instances) {
  bool any = false;
  for (const Device& device : devices) {
    for (const GpuInstance& instance : GpuInstancesOf(nvml, device.handle, gpu_instances)) {
      const std::vector<ComputeProfile> profiles = ComputeProfilesOf(nvml, instance.handle);
      const ComputeProfile* by_default = DefaultComputeProfile(instance.profile, profiles);
      for (const ComputeProfile& profile : profiles) {
        if (!any) {
          Say("{}",
              "+-----------------------------------------------------------------------------------"
              "---+\n"
              "| Compute instance profiles:                                                        "
              "   |\n"
              "| GPU     GPU       Name             Profile  Instances   Exclusive       Shared    "
              "   |\n"
              "|       Instance                       ID     Free/Total     SM       DEC   ENC   "
              "OFA  |\n"
              "|         ID                                                          CE    JPEG    "
              "   |\n"
              "|==================================================================================="
              "===|\n");
        }
        any = true;
        SayComputeProfile(nvml, device, instance, profile, &profile == by_default);
      }
    }
  }
  return any ? 0 : NothingFound(nvml, "GPU instances");
}

}  // namespace partita::sim::smi
