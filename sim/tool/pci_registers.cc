#include "sim/tool/pci_registers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/text.h"
#include "base/unique_fd.h"
#include "sim/state/life.h"
#include "sim/tool/pci_device.h"

namespace partita::sim::tool {
namespace {

constexpr off_t kWindow = off_t{16} << 20;  // as `resource` says of it
constexpr std::size_t kMapped = 0x119000;   // the pages with registers

// Positions of 32-bit words.
constexpr std::size_t kChip = 0x0 / 4, kMode = 0x1404 / 4, kFirmwareState = 0x118234 / 4,
                      kModeRequest = 0x118F78 / 4;
constexpr std::uint32_t kModeOn = 0x8000;
constexpr std::uint32_t kRequestValid = 0x8000, kRequestOn = 0x4000;
constexpr std::uint32_t kFirmwareUp = 0x03FF;
constexpr std::uint32_t kOffTheBus = 0xFFFFFFFF;

// The chip in bits 20-28: architecture and implementation as the open kernel modules 580 number
// them (ctrl2080mc.h); revision A1, as in the configuration space.
std::uint32_t ChipWord(const Board& board) {
  constexpr std::uint32_t kVolta = 5, kTuring = 6, kAmpere = 7, kAda = 8, kHopper = 9;
  std::uint32_t chip = 0x1B2;  // Blackwell with graphics
  switch (board.architecture) {
    case kVolta: chip = 0x140; break;
    case kTuring: chip = 0x164; break;
    case kAmpere: chip = board.mig_activation == MigActivation::kReset ? 0x170 : 0x172; break;
    case kAda: chip = 0x192; break;
    case kHopper: chip = 0x180; break;
    default:
      if (board.compute_major == 10) chip = 0x1A0;
  }
  return (chip << 20) | 0xA1;
}

bool KeepsMode(const Board& board) { return ChipWord(board) == 0x170000A1; }

}  // namespace

std::string DeviceFile(const std::string& root, const Board& board, const char* name) {
  return fmt::format("{}/sys/devices/{}/{}", root, DevicePath(board), name);
}

base::Result<PciRegisters> PciRegisters::Open(const std::string& root, const Board& board) {
  const std::string path = DeviceFile(root, board, "resource0");
  const base::UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return base::ErrnoError("open " + path);
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return base::ErrnoError("ask for " + path);
  if (status.st_size != kWindow) {
    return base::MakeError(base::ErrorCode::kIo, "{} has {} bytes, not {}", path, status.st_size,
                           kWindow);
  }
  void* words = mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (words == MAP_FAILED) return base::ErrnoError("map " + path);
  return PciRegisters(static_cast<volatile std::uint32_t*>(words));
}

base::Result<void> PciRegisters::Make(const std::string& root, const Board& board, const Gpu& gpu) {
  const std::string path = DeviceFile(root, board, "resource0");
  {
    const base::UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd.valid()) return base::ErrnoError("make " + path);
    if (ftruncate(fd.get(), kWindow) != 0) return base::ErrnoError("set the size of " + path);
  }
  TRY(registers, Open(root, board));
  if (KeepsMode(board)) {
    registers.words_[kModeRequest] = kRequestValid | (gpu.mig_pending != 0 ? kRequestOn : 0);
  }
  registers.Show(board, gpu, true);
  return {};
}

PciRegisters::PciRegisters(PciRegisters&& other) noexcept
    : words_(std::exchange(other.words_, nullptr)) {}

PciRegisters::~PciRegisters() {
  if (words_ != nullptr) munmap(const_cast<std::uint32_t*>(words_), kMapped);
}

void PciRegisters::Show(const Board& board, const Gpu& gpu, bool ready) {
  if (gpu.lost != 0) {
    for (const std::size_t word : {kChip, kMode, kFirmwareState, kModeRequest})
      words_[word] = kOffTheBus;
    return;
  }
  words_[kChip] = ChipWord(board);
  if (!KeepsMode(board)) return;
  // The firmware's word is what others wait for: first when going down, last when coming up.
  if (!ready) words_[kFirmwareState] = 0;
  words_[kMode] = gpu.mig_current != 0 ? kModeOn : 0;
  if (ready) words_[kFirmwareState] = kFirmwareUp;
}

std::optional<bool> PciRegisters::Requested(const Board& board) const {
  const std::uint32_t request = words_[kModeRequest];
  if (!KeepsMode(board) || request == kOffTheBus || (request & kRequestValid) == 0) {
    return std::nullopt;
  }
  return (request & kRequestOn) != 0;
}

bool TakeReset(const std::string& root, const Board& board) {
  const std::string path = DeviceFile(root, board, "reset");
  const base::UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  return fd.valid() && TakeReset(fd.get());
}

bool TakeReset(int reset_file) {
  std::array<char, 16> text{};
  const ssize_t size = pread(reset_file, text.data(), text.size(), 0);
  if (size <= 0 || ftruncate(reset_file, 0) != 0) return false;
  return base::Trim(std::string_view(text.data(), static_cast<std::size_t>(size))) == "1";
}

base::Result<void> MakeAllRegisters(const std::string& root,
                                    const Machine& machine,
                                    const Slot& slot) {
  for (std::uint32_t gpu = 0; gpu < machine.gpu_count; ++gpu) {
    TRY_VOID(PciRegisters::Make(root, machine.boards[gpu], slot.gpus[gpu]));
  }
  return {};
}

base::Result<void> RemoveAllRegisters(const std::string& root, const Machine& machine) {
  for (std::uint32_t gpu = 0; gpu < machine.gpu_count; ++gpu) {
    const std::string path = DeviceFile(root, machine.boards[gpu], "resource0");
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return base::ErrnoError("remove " + path);
  }
  return {};
}

void AdoptRequests(const std::string& root, const Machine& machine, Slot& slot) {
  for (std::uint32_t gpu = 0; gpu < machine.gpu_count; ++gpu) {
    const auto registers = PciRegisters::Open(root, machine.boards[gpu]);
    if (!registers.ok()) continue;  // none were made: nobody could ask for anything
    const std::optional<bool> requested = registers->Requested(machine.boards[gpu]);
    if (requested) slot.gpus[gpu].mig_pending = *requested ? 1 : 0;
    if (TakeReset(root, machine.boards[gpu])) ResetGpu(machine, slot, gpu);
  }
}

}  // namespace partita::sim::tool
