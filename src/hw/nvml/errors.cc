#include "hw/nvml/errors.h"

#include <algorithm>
#include <array>

#include "hw/nvml/abi.h"

namespace partita::hw::nvml {
namespace {

using base::ErrorCode;

struct Row {
  int native;
  ErrorCode code;
  std::string_view text;
  std::string_view hint;
};

constexpr std::string_view kRoot = "run it as root, or grant this process the device nodes";
constexpr std::string_view kLoad =
    "load the kernel module (modprobe nvidia) and see the kernel log";
constexpr std::string_view kLost =
    "stop its workloads and reboot the node; if it happens again, have the GPU replaced";
constexpr std::string_view kReset = "stop its workloads, then reset it with nvidia-smi";
constexpr std::string_view kMismatch =
    "the driver was updated while the old kernel module stayed loaded: reload it or reboot";
constexpr std::string_view kVisible =
    "check that the GPUs are on the PCI bus (lspci -d 10de:) and their device nodes can be opened";
constexpr std::string_view kHolder = "stop whatever holds it, then try again";
constexpr std::string_view kOlder = "the driver is older or newer than this function: update it";

// Texts as driver 580 gives them. 23 answers both "no room" and "that placement is occupied".
constexpr std::array kRows = {
    Row{NVML_ERROR_UNINITIALIZED, ErrorCode::kUnavailable, "Uninitialized", ""},
    Row{NVML_ERROR_INVALID_ARGUMENT, ErrorCode::kInvalid, "Invalid Argument", ""},
    Row{NVML_ERROR_NOT_SUPPORTED, ErrorCode::kUnsupported, "Not Supported", ""},
    Row{NVML_ERROR_NO_PERMISSION, ErrorCode::kDenied, "Insufficient Permissions", kRoot},
    Row{NVML_ERROR_ALREADY_INITIALIZED, ErrorCode::kInternal, "Already Initialized", ""},
    Row{NVML_ERROR_NOT_FOUND, ErrorCode::kNotFound, "Not Found", ""},
    Row{NVML_ERROR_INSUFFICIENT_SIZE, ErrorCode::kInternal, "Insufficient Size", ""},
    Row{NVML_ERROR_INSUFFICIENT_POWER, ErrorCode::kUnavailable, "Insufficient External Power",
        "connect the GPU's power cables"},
    Row{NVML_ERROR_DRIVER_NOT_LOADED, ErrorCode::kUnavailable, "Driver Not Loaded", kLoad},
    Row{NVML_ERROR_TIMEOUT, ErrorCode::kTimeout, "Timeout", ""},
    Row{NVML_ERROR_IRQ_ISSUE, ErrorCode::kUnavailable, "Interrupt Request Issue",
        "see the kernel log for this GPU's interrupts"},
    Row{NVML_ERROR_LIBRARY_NOT_FOUND, ErrorCode::kUnavailable, "NVML Shared Library Not Found", ""},
    Row{NVML_ERROR_FUNCTION_NOT_FOUND, ErrorCode::kUnsupported, "Function Not Found", kOlder},
    Row{NVML_ERROR_CORRUPTED_INFOROM, ErrorCode::kUnavailable, "Corrupted infoROM",
        "have the GPU serviced"},
    Row{NVML_ERROR_GPU_IS_LOST, ErrorCode::kUnavailable, "GPU is lost", kLost},
    Row{NVML_ERROR_RESET_REQUIRED, ErrorCode::kUnavailable, "GPU requires reset", kReset},
    Row{NVML_ERROR_OPERATING_SYSTEM, ErrorCode::kDenied,
        "GPU access blocked by the operating system", kRoot},
    Row{NVML_ERROR_LIB_RM_VERSION_MISMATCH, ErrorCode::kUnavailable,
        "Driver/library version mismatch", kMismatch},
    Row{NVML_ERROR_IN_USE, ErrorCode::kBusy, "In use by another client", kHolder},
    Row{NVML_ERROR_MEMORY, ErrorCode::kUnavailable, "Insufficient Memory", ""},
    Row{NVML_ERROR_NO_DATA, ErrorCode::kNotFound, "No data", ""},
    Row{NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, ErrorCode::kUnsupported, "vGPU ECC not supported", ""},
    Row{NVML_ERROR_INSUFFICIENT_RESOURCES, ErrorCode::kConflict, "Insufficient Resources", ""},
    Row{NVML_ERROR_FREQ_NOT_SUPPORTED, ErrorCode::kInvalid, "Invalid Frequency", ""},
    Row{NVML_ERROR_ARGUMENT_VERSION_MISMATCH, ErrorCode::kUnsupported, "Argument version mismatch",
        kOlder},
    Row{NVML_ERROR_DEPRECATED, ErrorCode::kUnsupported,
        "Requested functionality has been deprecated", ""},
    Row{NVML_ERROR_NOT_READY, ErrorCode::kUnavailable, "System is not in ready state", ""},
    Row{NVML_ERROR_GPU_NOT_FOUND, ErrorCode::kUnavailable, "No supported GPUs were found",
        kVisible},
    Row{NVML_ERROR_INVALID_STATE, ErrorCode::kConflict,
        "Resource not in correct state to perform requested operation", ""},
    Row{NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, ErrorCode::kUnsupported,
        "Reset type is not supported for given device", ""},
};
constexpr Row kUnknown{NVML_ERROR_UNKNOWN, ErrorCode::kInternal, "Unknown Error",
                       "see the kernel log for lines with NVRM"};

const Row& Find(int native) {
  const auto* row = std::find_if(kRows.begin(), kRows.end(),
                                 [native](const Row& each) { return each.native == native; });
  return row == kRows.end() ? kUnknown : *row;
}

}  // namespace

base::Error NvmlError(std::string_view function, int code) {
  const Row& row = Find(code);
  return base::MakeError(row.code, "{}: {}", function, row.text)
      .WithNative({base::NativeKind::kNvml, code})
      .WithHint(std::string(row.hint));
}

std::string_view NvmlHint(int code) { return Find(code).hint; }

bool MeansAbsent(int code) {
  return code == NVML_ERROR_NOT_SUPPORTED || code == NVML_ERROR_FUNCTION_NOT_FOUND ||
         code == NVML_ERROR_DEPRECATED;
}

bool MeansSessionLost(int code) {
  return code == NVML_ERROR_UNINITIALIZED || code == NVML_ERROR_DRIVER_NOT_LOADED ||
         code == NVML_ERROR_LIB_RM_VERSION_MISMATCH;
}

bool MeansSessionLost(const base::Error& error) {
  const std::optional<base::NativeCode>& native = error.native();
  return native && native->kind == base::NativeKind::kNvml && MeansSessionLost(native->value);
}

}  // namespace partita::hw::nvml
