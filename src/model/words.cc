#include "model/words.h"

#include <array>
#include <cstddef>

#include <fmt/format.h>

namespace partita::model {

namespace {

// By NVML's numbers.
constexpr std::array<std::string_view, 17> kBrands = {
    "unknown",    "quadro",     "tesla",  "nvs",         "grid",      "geforce",
    "titan",      "vapps",      "vpc",    "vcs",         "vws",       "cloud-gaming",
    "quadro-rtx", "nvidia-rtx", "nvidia", "geforce-rtx", "titan-rtx",
};
constexpr std::array<std::string_view, 3> kAddressingModes = {"none", "hmm", "ats"};
constexpr std::array<std::string_view, 5> kVirtualizationModes = {"none", "pass-through", "vgpu",
                                                                  "host-vgpu", "host-vsga"};

template <std::size_t N>
std::string Numbered(const std::array<std::string_view, N>& names, std::uint32_t number) {
  if (number < N) return std::string(names[number]);
  return fmt::format("unknown-{}", number);
}

}  // namespace

std::string_view Word(model::FaultKind kind) {
  switch (kind) {
    case model::FaultKind::kLost: return "lost";
    case model::FaultKind::kResetRequired: return "reset required";
    case model::FaultKind::kHung: return "hung";
    case model::FaultKind::kMissing: return "missing";
    case model::FaultKind::kUnreadable: return "unreadable";
    case model::FaultKind::kRecoveryAction: return "action required";
    case model::FaultKind::kMemoryErrors: return "memory errors";
    case model::FaultKind::kRemapPending: return "row remapping pending";
    case model::FaultKind::kRemapFailed: return "row remapping failed";
  }
  return "fault";
}

std::string_view Token(model::FaultKind kind) {
  switch (kind) {
    case model::FaultKind::kLost: return "lost";
    case model::FaultKind::kResetRequired: return "reset-required";
    case model::FaultKind::kHung: return "hung";
    case model::FaultKind::kMissing: return "missing";
    case model::FaultKind::kUnreadable: return "unreadable";
    case model::FaultKind::kRecoveryAction: return "recovery-action";
    case model::FaultKind::kMemoryErrors: return "memory-errors";
    case model::FaultKind::kRemapPending: return "row-remapping-pending";
    case model::FaultKind::kRemapFailed: return "row-remapping-failed";
  }
  return "unknown";
}

std::string_view Word(model::ComputeMode mode) {
  switch (mode) {
    case model::ComputeMode::kDefault: return "default";
    case model::ComputeMode::kExclusiveThread: return "exclusive thread";
    case model::ComputeMode::kProhibited: return "prohibited";
    case model::ComputeMode::kExclusiveProcess: return "exclusive process";
  }
  return "unknown";
}

std::string_view Token(model::ComputeMode mode) {
  switch (mode) {
    case model::ComputeMode::kDefault: return "default";
    case model::ComputeMode::kExclusiveThread: return "exclusive-thread";
    case model::ComputeMode::kProhibited: return "prohibited";
    case model::ComputeMode::kExclusiveProcess: return "exclusive-process";
  }
  return "unknown";
}

std::string_view Word(model::ProcessKind kind) {
  switch (kind) {
    case model::ProcessKind::kCompute: return "compute";
    case model::ProcessKind::kGraphics: return "graphics";
    case model::ProcessKind::kMps: return "MPS";
  }
  return "unknown";
}

std::string_view Token(model::ProcessKind kind) {
  switch (kind) {
    case model::ProcessKind::kCompute: return "compute";
    case model::ProcessKind::kGraphics: return "graphics";
    case model::ProcessKind::kMps: return "mps";
  }
  return "unknown";
}

std::string_view Word(model::Architecture architecture) {
  switch (architecture) {
    case model::Architecture::kKepler: return "Kepler";
    case model::Architecture::kMaxwell: return "Maxwell";
    case model::Architecture::kPascal: return "Pascal";
    case model::Architecture::kVolta: return "Volta";
    case model::Architecture::kTuring: return "Turing";
    case model::Architecture::kAmpere: return "Ampere";
    case model::Architecture::kAda: return "Ada";
    case model::Architecture::kHopper: return "Hopper";
    case model::Architecture::kBlackwell: return "Blackwell";
    case model::Architecture::kRubin: return "Rubin";
    case model::Architecture::kUnknown: return "unknown";
  }
  return "unknown";
}

std::string_view Token(model::Architecture architecture) {
  switch (architecture) {
    case model::Architecture::kKepler: return "kepler";
    case model::Architecture::kMaxwell: return "maxwell";
    case model::Architecture::kPascal: return "pascal";
    case model::Architecture::kVolta: return "volta";
    case model::Architecture::kTuring: return "turing";
    case model::Architecture::kAmpere: return "ampere";
    case model::Architecture::kAda: return "ada";
    case model::Architecture::kHopper: return "hopper";
    case model::Architecture::kBlackwell: return "blackwell";
    case model::Architecture::kRubin: return "rubin";
    case model::Architecture::kUnknown: return "unknown";
  }
  return "unknown";
}

std::string_view ShortWord(model::PathLevel level) {
  switch (level) {
    case model::PathLevel::kSameBoard: return "PSB";
    case model::PathLevel::kOneSwitch: return "PIX";
    case model::PathLevel::kSwitches: return "PXB";
    case model::PathLevel::kHostBridge: return "PHB";
    case model::PathLevel::kNumaNode: return "NODE";
    case model::PathLevel::kSystem: return "SYS";
  }
  return "?";
}

std::string_view Word(model::PathLevel level) {
  switch (level) {
    case model::PathLevel::kSameBoard: return "the same board";
    case model::PathLevel::kOneSwitch: return "one PCIe switch";
    case model::PathLevel::kSwitches: return "several PCIe switches";
    case model::PathLevel::kHostBridge: return "a PCIe host bridge";
    case model::PathLevel::kNumaNode: return "host bridges of one NUMA node";
    case model::PathLevel::kSystem: return "the link between NUMA nodes";
  }
  return "an unknown path";
}

std::string_view Token(model::PathLevel level) {
  switch (level) {
    case model::PathLevel::kSameBoard: return "same-board";
    case model::PathLevel::kOneSwitch: return "one-switch";
    case model::PathLevel::kSwitches: return "switches";
    case model::PathLevel::kHostBridge: return "host-bridge";
    case model::PathLevel::kNumaNode: return "numa-node";
    case model::PathLevel::kSystem: return "system";
  }
  return "unknown";
}

std::string PciText(const model::Gpu& gpu) {
  return gpu.pci == model::PciAddress() ? "address unknown" : gpu.pci.ToString();
}

std::string BrandToken(std::uint32_t brand) { return Numbered(kBrands, brand); }
std::string AddressingToken(std::uint32_t mode) { return Numbered(kAddressingModes, mode); }
std::string VirtualizationToken(std::uint32_t mode) { return Numbered(kVirtualizationModes, mode); }

}  // namespace partita::model
