// Does with NVIDIA's Go libraries what bench/enumerate.cc does with ours: initialise NVML, read every
// GPU with its MIG profiles, instances and devices, shut down; so many times, and print how long each
// took in nanoseconds. With "bus" also the PCI functions, which ours always reads. (Ours lists device
// nodes and capability minors too, for which these libraries have no call.)
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvlib/pkg/nvpci"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Everything that is read, kept so that nothing is read in vain.
type gpu struct {
	uuid, name, serial, part, vbios, bus, arch, brand, capability string
	minor, index, cores, numa                                     int
	memory                                                        nvml.Memory
	current, pending                                              int
	persistence                                                   nvml.EnableState
	computeMode                                                   nvml.ComputeMode
	processes                                                     int
	profiles                                                      []profile
	instances                                                     []instance
	links                                                         []nvml.GpuTopologyLevel
}

type profile struct {
	info       nvml.GpuInstanceProfileInfo
	placements []nvml.GpuInstancePlacement
	remaining  int
}

type instance struct {
	info    nvml.GpuInstanceInfo
	devices []migDevice
}

type migDevice struct {
	info       nvml.ComputeInstanceInfo
	uuid, name string
	attributes nvml.DeviceAttributes
}

func check(what string, ret nvml.Return) {
	if ret != nvml.SUCCESS {
		fmt.Fprintf(os.Stderr, "peer-enumerate: %s: %v\n", what, nvml.ErrorString(ret))
		os.Exit(1)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintf(os.Stderr, "peer-enumerate: %v\n", err)
		os.Exit(1)
	}
	return value
}

func readIdentity(d device.Device, g *gpu) {
	var ret nvml.Return
	g.uuid, ret = d.GetUUID()
	check("UUID", ret)
	g.name, ret = d.GetName()
	check("name", ret)
	g.minor, ret = d.GetMinorNumber()
	check("minor", ret)
	g.memory, ret = d.GetMemoryInfo()
	check("memory", ret)
	g.serial, _ = d.GetSerial()
	g.part, _ = d.GetBoardPartNumber()
	g.vbios, _ = d.GetVbiosVersion()
	g.cores, _ = d.GetNumGpuCores()
	g.persistence, _ = d.GetPersistenceMode()
	g.computeMode, _ = d.GetComputeMode()
	g.bus = must(d.GetPCIBusID())
	g.arch = must(d.GetArchitectureAsString())
	g.brand = must(d.GetBrandAsString())
	g.capability = must(d.GetCudaComputeCapabilityAsString())
	processes, _ := d.GetComputeRunningProcesses()
	g.processes = len(processes)
}

func readProfiles(d device.Device, g *gpu) {
	for constant := 0; constant < nvml.GPU_INSTANCE_PROFILE_COUNT; constant++ {
		info, ret := d.GetGpuInstanceProfileInfo(constant)
		if ret == nvml.ERROR_NOT_SUPPORTED || ret == nvml.ERROR_INVALID_ARGUMENT {
			continue
		}
		check("profile", ret)
		placements, ret := d.GetGpuInstancePossiblePlacements(&info)
		check("placements", ret)
		remaining, ret := d.GetGpuInstanceRemainingCapacity(&info)
		check("remaining capacity", ret)
		g.profiles = append(g.profiles, profile{info, placements, remaining})
	}
}

func readInstances(d device.Device, g *gpu) int {
	instances := map[uint32]int{}
	for i := range g.profiles {
		found, ret := d.GetGpuInstances(&g.profiles[i].info)
		check("GPU instances", ret)
		for _, gi := range found {
			info, ret := gi.GetInfo()
			check("GPU instance", ret)
			instances[info.Id] = len(g.instances)
			g.instances = append(g.instances, instance{info: info})
		}
	}
	slices := 0
	for _, m := range must(d.GetMigDevices()) {
		var read migDevice
		var ret nvml.Return
		read.uuid, ret = m.GetUUID()
		check("MIG UUID", ret)
		read.attributes, ret = m.GetAttributes()
		check("MIG attributes", ret)
		read.name = must(m.GetProfile()).String()
		id, ret := m.GetGpuInstanceId()
		check("GPU instance id", ret)
		ciID, ret := m.GetComputeInstanceId()
		check("compute instance id", ret)
		gi, ret := d.GetGpuInstanceById(id)
		check("GPU instance by id", ret)
		ci, ret := gi.GetComputeInstanceById(ciID)
		check("compute instance by id", ret)
		read.info, ret = ci.GetInfo()
		check("compute instance", ret)
		at := instances[uint32(id)]
		g.instances[at].devices = append(g.instances[at].devices, read)
		slices++
	}
	return slices
}

func enumerate(withBus bool) ([]gpu, int) {
	if withBus {
		found := must(nvpci.New().GetGPUs())
		if len(found) == 0 {
			fmt.Fprintln(os.Stderr, "peer-enumerate: no GPU on the PCI bus")
			os.Exit(1)
		}
	}
	library := nvml.New()
	check("init", library.Init())
	defer library.Shutdown()
	_, ret := library.SystemGetDriverVersion()
	check("driver version", ret)
	_, ret = library.SystemGetNVMLVersion()
	check("NVML version", ret)
	_, ret = library.SystemGetCudaDriverVersion()
	check("CUDA version", ret)
	devices := must(device.New(library).GetDevices())
	gpus := make([]gpu, len(devices))
	slices := 0
	for i, d := range devices {
		g := &gpus[i]
		readIdentity(d, g)
		capable := must(d.IsMigCapable())
		if capable {
			g.current, g.pending, ret = d.GetMigMode()
			check("MIG mode", ret)
			readProfiles(d, g)
		}
		if g.current == nvml.DEVICE_MIG_ENABLE {
			slices += readInstances(d, g)
		}
		for _, other := range devices[i+1:] {
			level, ret := d.GetTopologyCommonAncestor(other)
			check("topology", ret)
			g.links = append(g.links, level)
		}
	}
	return gpus, slices
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: peer-enumerate RUNS [bus]")
		os.Exit(2)
	}
	log.SetOutput(io.Discard) // nvpci warns about every GPU that is not given to a virtual machine
	withBus := len(os.Args) > 2 && os.Args[2] == "bus"
	runs := must(strconv.Atoi(os.Args[1]))
	for range runs {
		start := time.Now()
		gpus, slices := enumerate(withBus)
		fmt.Printf("%d %d %d\n", time.Since(start).Nanoseconds(), len(gpus), slices)
	}
}
