//go:build tools

package tools

import (
	_ "github.com/NVIDIA/go-nvml/pkg/nvml"
)
