#include "hw/pci_mig.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::hw {
namespace {

using base::ErrorCode;

// Offsets into BAR0, and their values: those that mig-parted 0.13.1 uses for GA100 (pkg/mig/mode).
// `make compat` lets that program change the same simulated GPUs, so a number that is wrong here
// and there alike still shows.
constexpr std::size_t kIdentity = 0x0;  // PMC: chip in bits 20-28, revision below
constexpr std::size_t kCurrent = 0x1404;
constexpr std::size_t kBoot = 0x118234;
constexpr std::size_t kRequest = 0x118F78;
constexpr std::size_t kMapped = 0x119000;  // whole pages up to the last of them

constexpr std::uint32_t kGa100 = 0x170000A1;
constexpr std::uint32_t kFirstHopperChip = 0x180;
constexpr std::uint32_t kBooted = 0x03FF;
constexpr std::uint32_t kEnabledNow = 0x8000;
constexpr std::uint32_t kRequestMask = 0xC000, kRequestOn = 0xC000, kRequestOff = 0x8000;
constexpr std::uint32_t kNobodyAnswers = 0xFFFFFFFF;  // what the bus returns for a silent device

constexpr std::chrono::milliseconds kPollInterval{100};  // a register tells nobody that it changed

base::Error OpenError(const std::string& path, int error) {
  base::Error failure = base::ErrnoError("open " + path, error);
  if (error == EACCES || error == EPERM) {
    return std::move(failure).WithHint(
        "run this as root; where the kernel is locked down (secure boot), load the driver instead");
  }
  return std::move(failure).WithHint(
      "the registers of the GPU are not to be had: load the driver and change the mode through it");
}

}  // namespace

bool IsDriverLoaded(const std::string& root) {
  const base::Result<std::string> modules = base::ReadFile(base::JoinPath(root, "proc/modules"));
  if (!modules.ok()) return base::Exists(base::JoinPath(root, "sys/module/nvidia"));
  for (const std::string_view line : base::Split(*modules, '\n')) {
    if (line.starts_with("nvidia ")) return true;
  }
  return false;
}

std::string WhyUnsupported(PciMigSupport support) {
  switch (support) {
    case PciMigSupport::kYes: return "";
    case PciMigSupport::kInDriver:
      return "not capable without the driver: Hopper and later keep the MIG mode in it; load it, "
             "then change the mode";
    case PciMigSupport::kNone: return "this GPU has no MIG mode";
  }
  return "";
}

PciMig::PciMig(std::string directory, PciMigOptions options)
    : directory_(std::move(directory)), options_(std::move(options)) {
  if (!options_.pause) options_.pause = [] { std::this_thread::sleep_for(kPollInterval); };
}

PciMig::PciMig(PciMig&& other) noexcept
    : directory_(std::move(other.directory_)),
      options_(std::move(other.options_)),
      registers_(std::exchange(other.registers_, nullptr)) {}

PciMig::~PciMig() {
  if (registers_ != nullptr) munmap(const_cast<std::uint32_t*>(registers_), kMapped);
}

base::Result<void> PciMig::Map() {
  const std::string path = directory_ + "/resource0";
  const base::UniqueFd fd(open(path.c_str(), O_RDWR | O_SYNC | O_CLOEXEC));
  if (!fd.valid()) return OpenError(path, errno);
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return base::ErrnoError("ask for the size of " + path);
  // Beyond the end of a mapped file there is a signal, not an error.
  if (status.st_size < static_cast<off_t>(kMapped)) {
    return base::MakeError(ErrorCode::kUnsupported,
                           "{} has {} bytes: the MIG registers end at {:#x}", path, status.st_size,
                           kMapped)
        .WithHint("load the driver and change the mode through it");
  }
  void* mapped = mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) {
    return base::ErrnoError("map " + path)
        .WithHint("load the driver and change the mode through it");
  }
  registers_ = static_cast<volatile std::uint32_t*>(mapped);
  return {};
}

base::Result<PciMig> PciMig::Open(const model::PciAddress& gpu, PciMigOptions options) {
  std::string directory = base::JoinPath(options.root, "sys/bus/pci/devices/" + gpu.ToString());
  PciMig opened(std::move(directory), std::move(options));
  TRY_VOID(opened.Map());
  if (opened.Read(kIdentity) == kNobodyAnswers) {
    return base::MakeError(ErrorCode::kUnavailable, "{}/resource0: the device does not answer",
                           opened.directory_)
        .WithHint(fmt::format("if its memory is switched off, write 1 to {}/enable; else the GPU "
                              "is off the bus: reboot",
                              opened.directory_));
  }
  return opened;
}

std::uint32_t PciMig::Read(std::size_t offset) const {
  return registers_[offset / sizeof(std::uint32_t)];
}

void PciMig::Write(std::size_t offset, std::uint32_t value) {
  registers_[offset / sizeof(std::uint32_t)] = value;
}

PciMigSupport PciMig::support() const {
  const std::uint32_t identity = Read(kIdentity);
  if (identity == kGa100) return PciMigSupport::kYes;
  const std::uint32_t chip = (identity >> 20) & 0x1FF;
  return chip >= kFirstHopperChip ? PciMigSupport::kInDriver : PciMigSupport::kNone;
}

base::Result<void> PciMig::AwaitReady() const {
  for (int poll = 0; poll < options_.boot_polls; ++poll) {
    // Its identity too: a device in the middle of a reset answers with ones.
    if (Read(kBoot) == kBooted && Read(kIdentity) == kGa100) return {};
    if (Read(kIdentity) != kNobodyAnswers && support() != PciMigSupport::kYes) {
      return base::Error(ErrorCode::kUnsupported,
                         fmt::format("{}: {}", directory_, WhyUnsupported(support())));
    }
    if (poll + 1 < options_.boot_polls) options_.pause();
  }
  return base::MakeError(ErrorCode::kTimeout,
                         "{}/resource0: the GPU's firmware is not up (register {:#x} reads {:#x}, "
                         "not {:#x})",
                         directory_, kBoot, Read(kBoot), kBooted)
      .WithHint(fmt::format("write 1 to {}/reset and try again, or reboot", directory_));
}

base::Result<PciMigMode> PciMig::ReadMode() const {
  TRY_VOID(AwaitReady());
  PciMigMode mode;
  mode.enabled = (Read(kCurrent) & kEnabledNow) != 0;
  // Neither of the two: nobody has asked for anything.
  const std::uint32_t request = Read(kRequest) & kRequestMask;
  mode.pending_enabled = request == kRequestOn || (request == kRequestOff ? false : mode.enabled);
  return mode;
}

base::Result<void> PciMig::Request(bool enabled) {
  TRY_VOID(AwaitReady());
  const std::uint32_t wanted = enabled ? kRequestOn : kRequestOff;
  Write(kRequest, (Read(kRequest) & ~kRequestMask) | wanted);
  if ((Read(kRequest) & kRequestMask) == wanted) return {};
  return base::MakeError(ErrorCode::kIo, "{}/resource0: the GPU did not take the request",
                         directory_)
      .WithHint("load the driver and change the mode through it");
}

base::Result<void> PciMig::Reset() {
  const std::string path = directory_ + "/reset";
  const base::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return base::ErrnoError("open " + path)
        .WithHint("reboot the node: that activates the mode too");
  }
  if (write(fd.get(), "1", 1) != 1) {
    return base::ErrnoError("write 1 to " + path)
        .WithHint("reboot the node: that activates the mode too");
  }
  return AwaitReady();
}

}  // namespace partita::hw
