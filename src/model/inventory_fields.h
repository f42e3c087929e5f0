// The fields of every struct of the inventory.
#pragma once

#include "model/fields.h"
#include "model/inventory.h"

namespace partita::model {

#define F PARTITA_FIELD
PARTITA_FIELDS(CudaVersion, F(major), F(minor));
PARTITA_FIELDS(Driver, F(version), F(nvml_version), F(cuda), F(library_path));
PARTITA_FIELDS(Placement, F(start), F(size));
PARTITA_FIELDS(Memory, F(total), F(reserved), F(used), F(free), F(used_counts_reserve));
PARTITA_FIELDS(GpuInstanceProfile,
               F(constant),
               F(id),
               F(name),
               F(nvml_name),
               F(slice_count),
               F(instance_count),
               F(multiprocessors),
               F(copy_engines),
               F(decoders),
               F(encoders),
               F(jpegs),
               F(ofas),
               F(memory),
               F(p2p),
               F(placements),
               F(remaining));
PARTITA_FIELDS(ComputeInstanceProfile,
               F(id),
               F(slice_count),
               F(multiprocessors),
               F(instance_count),
               F(placements));
PARTITA_FIELDS(ComputeInstance,
               F(id),
               F(profile),
               F(placement),
               F(slice_count),
               F(multiprocessors),
               F(uuid),
               F(name),
               F(slot),
               F(access));
PARTITA_FIELDS(GpuInstance,
               F(id),
               F(profile),
               F(profile_name),
               F(placement),
               F(memory),
               F(access),
               F(compute_instances),
               F(offered));
PARTITA_FIELDS(Mig, F(enabled), F(pending_enabled), F(memory_slices), F(profiles), F(instances));
PARTITA_FIELDS(Container, F(id), F(name), F(pod_uid), F(pod_namespace), F(pod_name));
PARTITA_FIELDS(Process,
               F(pid),
               F(kind),
               F(name),
               F(memory),
               F(gpu_instance),
               F(compute_instance),
               F(container));
PARTITA_FIELDS(HiddenHolder, F(gpu_instance), F(memory));
PARTITA_FIELDS(Readings,
               F(utilization),
               F(memory_utilization),
               F(temperature),
               F(power),
               F(power_limit),
               F(graphics_clock),
               F(sm_clock),
               F(memory_clock),
               F(video_clock),
               F(performance_state));
PARTITA_FIELDS(UncorrectedErrors, F(since_reset), F(in_all));
PARTITA_FIELDS(RowRemapping, F(corrected), F(uncorrected), F(pending), F(failed));
PARTITA_FIELDS(Fabric, F(joined), F(cluster), F(clique));
PARTITA_FIELDS(Fault, F(kind), F(text));
PARTITA_FIELDS(Gpu,
               F(index),
               F(minor),
               F(uuid),
               F(name),
               F(pci),
               F(pci_device_id),
               F(pci_subsystem_id),
               F(pci_class),
               F(serial),
               F(part_number),
               F(vbios),
               F(module_id),
               F(numa_node),
               F(irq),
               F(pci_path),
               F(architecture),
               F(brand),
               F(compute_major),
               F(compute_minor),
               F(cores),
               F(memory),
               F(bar1),
               F(pcie_generation),
               F(pcie_width),
               F(pcie_generation_max),
               F(pcie_width_max),
               F(persistence),
               F(compute_mode),
               F(ecc),
               F(ecc_pending),
               F(uncorrected_errors),
               F(row_remapping),
               F(addressing_mode),
               F(virtualization_mode),
               F(recovery_action),
               F(fabric),
               F(mig),
               F(mig_error),
               F(readings),
               F(processes),
               F(processes_error),
               F(hidden_holders),
               F(faults));
PARTITA_FIELDS(GpuLink, F(a), F(b), F(path), F(nvlinks));
PARTITA_FIELDS(SwitchLinks, F(gpu), F(active));
PARTITA_FIELDS(VfioGpu, F(pci), F(pci_device_id), F(numa_node), F(iommu_group));
PARTITA_FIELDS(DeviceNode, F(path), F(major), F(minor), F(mode));
PARTITA_FIELDS(Problem, F(gpu), F(error));
PARTITA_FIELDS(Inventory,
               F(generation),
               F(driver),
               F(driver_error),
               F(gpus),
               F(vfio),
               F(links),
               F(switch_links),
               F(nodes),
               F(problems));

#undef F

}  // namespace partita::model
