module partita.dev/compat/go-nvml

go 1.26.0

require github.com/NVIDIA/go-nvml v0.13.3-0
