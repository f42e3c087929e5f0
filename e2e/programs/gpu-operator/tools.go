//go:build tools

package tools

import _ "github.com/NVIDIA/gpu-operator/cmd/gpu-operator"
