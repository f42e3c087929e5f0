// Command listdevices asks a kubelet device plugin what kubelet would ask it, over the plugin's own
// socket, and prints the answers as one JSON object per line:
//
//	{"options": …}                     at once
//	{"devices": [{"id", "health", "numa"}]}  the list, and again whenever the plugin sends it
//	{"preferred": [ids]}               with -prefer N, after the first list
//	{"allocated": {…}}                 with -allocate, for the first device of the first list
//
// It ends after -lists lists, or with status 1 when -timeout passes first.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1beta1 "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type device struct {
	ID     string  `json:"id"`
	Health string  `json:"health"`
	NUMA   []int64 `json:"numa"`
}

func main() {
	socket := flag.String("socket", "", "the plugin's unix `socket`")
	lists := flag.Int("lists", 1, "end after this many lists")
	prefer := flag.Int("prefer", 0, "ask which devices the plugin prefers for a request of this size")
	allocate := flag.Bool("allocate", false, "allocate the first device")
	timeout := flag.Duration("timeout", 30*time.Second, "give up after this time")
	flag.Parse()

	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	if err := run(ctx, *socket, *lists, *prefer, *allocate); err != nil {
		fmt.Fprintf(os.Stderr, "listdevices: %s: %v\n", *socket, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, socket string, lists, prefer int, allocate bool) error {
	connection, err := grpc.NewClient(
		"unix://"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
	)
	if err != nil {
		return err
	}
	defer connection.Close()
	plugin := v1beta1.NewDevicePluginClient(connection)

	options, err := plugin.GetDevicePluginOptions(ctx, &v1beta1.Empty{}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("GetDevicePluginOptions: %w", err)
	}
	show("options", options)

	stream, err := plugin.ListAndWatch(ctx, &v1beta1.Empty{})
	if err != nil {
		return fmt.Errorf("ListAndWatch: %w", err)
	}
	for seen := 0; seen < lists; seen++ {
		response, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("ListAndWatch, list %d: %w", seen+1, err)
		}
		devices := sorted(response.Devices)
		show("devices", devices)
		if seen > 0 {
			continue
		}
		if err := ask(ctx, plugin, devices, prefer, allocate); err != nil {
			return err
		}
	}
	return nil
}

func sorted(list []*v1beta1.Device) []device {
	devices := make([]device, 0, len(list))
	for _, item := range list {
		entry := device{ID: item.ID, Health: item.Health, NUMA: []int64{}}
		for _, node := range item.GetTopology().GetNodes() {
			entry.NUMA = append(entry.NUMA, node.ID)
		}
		devices = append(devices, entry)
	}
	sort.Slice(devices, func(i, j int) bool { return devices[i].ID < devices[j].ID })
	return devices
}

func ask(ctx context.Context, plugin v1beta1.DevicePluginClient, devices []device, prefer int, allocate bool) error {
	if prefer > 0 {
		request := &v1beta1.ContainerPreferredAllocationRequest{AllocationSize: int32(prefer)}
		for _, item := range devices {
			request.AvailableDeviceIDs = append(request.AvailableDeviceIDs, item.ID)
		}
		answer, err := plugin.GetPreferredAllocation(ctx, &v1beta1.PreferredAllocationRequest{
			ContainerRequests: []*v1beta1.ContainerPreferredAllocationRequest{request},
		})
		if err != nil {
			return fmt.Errorf("GetPreferredAllocation: %w", err)
		}
		show("preferred", answer.ContainerResponses[0].DeviceIDs)
	}
	if allocate && len(devices) > 0 {
		answer, err := plugin.Allocate(ctx, &v1beta1.AllocateRequest{
			ContainerRequests: []*v1beta1.ContainerAllocateRequest{{DevicesIds: []string{devices[0].ID}}},
		})
		if err != nil {
			return fmt.Errorf("Allocate: %w", err)
		}
		show("allocated", answer.ContainerResponses[0])
	}
	return nil
}

func show(key string, value any) {
	line, err := json.Marshal(map[string]any{key: value})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}
