#!/usr/bin/env bash
# A GPU bound to vfio is listed with its address and IOMMU group instead of being drawn.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
partita-sim set --node "$node" --gpu 4 pci-driver=vfio
run 0 on_node partita status
shows "7 GPUs" "1 bound to vfio" "bound to vfio: for virtual machines" "PCI id 10de:20b0"
