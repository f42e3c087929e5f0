#include "service/cdi/generate.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cdi/validate.h"
#include "request/device_id.h"
#include "service/cdi/miscounts.h"
#include "service/cdi/selection.h"
#include "service/cdi/simplify.h"

namespace partita::service::cdi {

namespace {

using base::ErrorCode;
using base::Result;
using partita::cdi::ContainerEdits;
using partita::cdi::Device;
using partita::cdi::Spec;

constexpr std::uint64_t kMostChannel = (std::uint64_t{1} << 20) - 1;  // a device number's minor
constexpr const char* kControlNode = "/dev/nvidiactl";
constexpr const char* kMemoryNode = "/dev/nvidia-uvm";
constexpr std::string_view kChannels = "/dev/nvidia-caps-imex-channels/channel";

// For everything but GPUs: the nodes that a mode hands out as one device.
struct ModeRow {
  Mode mode;
  std::string_view name, klass;
  std::array<std::string_view, 3> nodes;
};
constexpr std::array kModes = {
    ModeRow{Mode::kNvml, "nvml", "gpu", {}},
    ModeRow{Mode::kManagement,
            "management",
            "gpu",
            {"/dev/nvidia*", "/dev/nvidia-caps/nvidia-cap*",
             "/dev/nvidia-caps-imex-channels/channel*"}},
    ModeRow{Mode::kImex, "imex", "imex-channel", {}},
    ModeRow{Mode::kGds, "gds", "gds", {"/dev/nvidia-fs*"}},
    ModeRow{Mode::kMofed, "mofed", "mofed", {"/dev/infiniband/uverbs*", "/dev/infiniband/rdma_cm"}},
    ModeRow{Mode::kGdrcopy, "gdrcopy", "gdrcopy", {"/dev/gdrdrv"}},
    ModeRow{Mode::kNvswitch,
            "nvswitch",
            "nvswitch",
            {"/dev/nvidia-nvswitchctl", "/dev/nvidia-nvswitch*"}},
};
constexpr std::string_view kOtherMachines[] = {"csv", "wsl", "mig-caps"};

// What manages GPUs has no business with these.
constexpr std::string_view kNotForManagement[] = {"nvidia-fs", "nvidia-nvswitch", "nvidia-nvlink"};

const ModeRow& ModeRowOf(Mode mode) {
  return *std::find_if(kModes.begin(), kModes.end(),
                       [&](const ModeRow& row) { return row.mode == mode; });
}

bool IsForManagement(std::string_view node) {
  return std::none_of(std::begin(kNotForManagement), std::end(kNotForManagement),
                      [&](std::string_view prefix) { return NameOf(node).starts_with(prefix); });
}

class Builder {
 public:
  Builder(const model::Inventory& inventory,
          const DriverFiles& driver,
          const DeviceFiles& devices,
          const Places& places,
          const GenerateOptions& options)
      : inventory_(inventory),
        driver_(driver),
        devices_(devices),
        places_(places),
        options_(options),
        miscounts_(MiscountsOf(inventory, devices, places, options.hooks)) {}

  Result<Generated> Build() {
    out_.spec.kind = options_.vendor + "/" + options_.klass;
    switch (options_.mode) {
      case Mode::kNvml:
        TRY_VOID(AddGpus());
        TRY_VOID(CheckCommon());
        out_.spec.edits = CommonEdits(driver_, devices_, places_, options_.hooks);
        break;
      case Mode::kManagement:
        TRY_VOID(AddNodes());
        out_.spec.edits = ManagementEdits(driver_, options_.hooks);
        break;
      case Mode::kImex: TRY_VOID(AddChannels()); break;
      case Mode::kGds:
      case Mode::kMofed:
      case Mode::kGdrcopy:
      case Mode::kNvswitch: TRY_VOID(AddNodes()); break;
    }
    // So that a runtime which also looks at this container leaves it alone.
    out_.spec.edits.env.emplace_back("NVIDIA_VISIBLE_DEVICES=void");
    return Finish();
  }

 private:
  Result<void> AddGpus() {
    for (const std::string& id : options_.device_ids) {
      if (id == "none") return AddNone();
      if (id == "all") return AddSubjects(SelectAll(inventory_));
    }
    TRY_VOID(CheckNumbers());
    TRY(selection, SelectByIds(inventory_, options_.device_ids));
    return AddSubjects(std::move(selection));
  }

  Result<void> CheckNumbers() const {
    for (const std::string& text : options_.device_ids) {
      TRY(id, request::ParseDeviceId(text));
      TRY_VOID(request::CheckNumber(id, text, miscounts_));
    }
    return {};
  }

  // What every container needs: without the control node nothing opens a GPU, without the others
  // GPUs are seen and nothing computes on them.
  Result<void> CheckCommon() {
    if (!with_all_) return {};
    const auto missing = [&](const char* node) {
      return !devices_.nodes.contains(node) && !devices_.foreign.contains(node);
    };
    const auto place = [&](const char* node) { return base::JoinPath(places_.dev_root, node); };
    if (!devices_.nodes.contains(kControlNode)) {
      const auto foreign = devices_.foreign.find(kControlNode);
      return base::MakeError(ErrorCode::kNotFound, "{} {}: no GPU can be opened without it",
                             place(kControlNode),
                             foreign == devices_.foreign.end() ? "is missing" : foreign->second)
          .WithHint("nvidia-modprobe makes it");
    }
    if (missing(kMemoryNode)) {
      out_.warnings.push_back(
          fmt::format("{} is missing: CUDA does not work without it (nvidia-modprobe -u makes it)",
                      place(kMemoryNode)));
    }
    const bool cuda = std::any_of(driver_.driver.begin(), driver_.driver.end(),
                                  [](const partita::cdi::DriverFile& file) {
                                    return NameOf(file.container_path).starts_with("libcuda.so.");
                                  });
    if (!cuda)
      out_.warnings.emplace_back(
          "the driver's libcuda.so was not found: CUDA does not work without it");
    return {};
  }

  // A device without edits would not be valid.
  Result<void> AddNone() {
    with_all_ = false;
    Device none;
    none.name = "none";
    none.edits.env = {"NVCT_EMPTY_DEVICE="};
    out_.spec.devices.push_back(std::move(none));
    return {};
  }

  Result<void> AddSubjects(Selection selection) {
    out_.left_out = std::move(selection.broken);
    for (const model::Gpu* gpu : selection.unlisted) {
      if (std::optional<base::Error> why = WhyUnlisted(*gpu, devices_, places_, options_.hooks))
        out_.left_out.push_back(*std::move(why));
      else
        selection.nothing.push_back("the driver does not list " + Called(*gpu));
    }
    for (const Subject& subject : selection.subjects) {
      Result<void> added = AddSubject(subject);
      if (!added.ok()) out_.left_out.push_back(std::move(added).error());
    }
    if (!out_.left_out.empty() && !options_.best_effort) return TellLeftOut();
    if (!miscounts_.empty() && options_.numbers == Numbers::kLeftOut) {
      out_.warnings.push_back("names by number that would be others' now are left out: " +
                              miscounts_.front().why);
    }
    if (out_.spec.devices.empty()) return TellNoDevice(selection.nothing);
    out_.warnings.insert(out_.warnings.end(), selection.nothing.begin(), selection.nothing.end());
    return {};
  }

  [[nodiscard]] std::vector<Naming> NamingsFor(const Subject& subject) const {
    std::vector<Naming> namings = options_.namings;
    if (!subject.gpu->index) return namings;
    const auto slot = subject.compute != nullptr ? subject.compute->slot : std::nullopt;
    const bool moved =
        std::any_of(miscounts_.begin(), miscounts_.end(), [&](const partita::cdi::Miscount& each) {
          return request::MayBeAnothers(subject.gpu->index->value(), slot, each);
        });
    if (moved && options_.numbers == Numbers::kLeftOut)
      std::erase_if(namings, [](Naming naming) { return naming != Naming::kUuid; });
    return namings;
  }

  Result<void> AddSubject(const Subject& subject) {
    const model::Gpu& gpu = *subject.gpu;
    TRY(names, Names(gpu, subject.compute, NamingsFor(subject)));
    Result<ContainerEdits> edits =
        subject.compute == nullptr
            ? GpuEdits(gpu, devices_, places_, options_.hooks)
            : MigEdits(gpu, *subject.instance, *subject.compute, devices_, places_, options_.hooks);
    if (!edits.ok()) return std::move(edits).error();
    for (std::string& name : names) {
      Device device;
      device.name = std::move(name);
      device.edits = *edits;
      out_.spec.devices.push_back(std::move(device));
    }
    return {};
  }

  [[nodiscard]] base::Error TellLeftOut() const {
    std::vector<std::string> reasons;
    for (const base::Error& error : out_.left_out) reasons.push_back(error.ToString());
    const base::Error& first = out_.left_out.front();
    std::string hint = first.hint().empty() ? "" : first.hint() + "\n";
    hint += "with --best-effort the others are described without it";
    return base::MakeError(first.code(), "{}", base::Join(reasons, "; ")).WithHint(std::move(hint));
  }

  [[nodiscard]] base::Error TellNoDevice(const std::vector<std::string>& nothing) const {
    std::vector<std::string> reasons = nothing;
    for (const base::Error& error : out_.left_out) reasons.push_back(error.ToString());
    if (reasons.empty()) reasons.emplace_back("the driver lists no GPU");
    return base::MakeError(ErrorCode::kNotFound, "no device to describe: {}",
                           base::Join(reasons, "; "));
  }

  // One device with every node of the mode.
  Result<void> AddNodes() {
    const ModeRow& row = ModeRowOf(options_.mode);
    Device device;
    device.name = "all";
    bool in_caps = false;
    for (const auto& [path, facts] : devices_.nodes) {
      const bool named =
          std::any_of(row.nodes.begin(), row.nodes.end(), [&, &node = path](std::string_view each) {
            // Patterns are of one folder.
            return !each.empty() && FolderOf(each) == FolderOf(node) && MatchesPattern(node, each);
          });
      if (!named || (options_.mode == Mode::kManagement && !IsForManagement(path))) continue;
      AddNode(path, devices_, places_, options_.hooks, device.edits);
      in_caps = in_caps || FolderOf(path) == "/dev/nvidia-caps";
    }
    if (device.edits.device_nodes.empty()) return TellNoNodes(row);
    if (options_.mode == Mode::kManagement && in_caps) {
      AddHook(options_.hooks.Make("chmod", {"--mode", "755", "--path", "/dev/nvidia-caps"}),
              device.edits);
    }
    if (options_.mode == Mode::kGds) {
      for (const partita::cdi::DriverFile& file : driver_.driver) AddMount(file, device.edits);
    }
    out_.spec.devices.push_back(std::move(device));
    return {};
  }

  [[nodiscard]] base::Error TellNoNodes(const ModeRow& row) const {
    std::vector<std::string> patterns;
    for (const std::string_view each : row.nodes) {
      if (!each.empty()) patterns.emplace_back(each);
    }
    return base::MakeError(ErrorCode::kNotFound, "no device to describe: below {} there is no {}",
                           places_.dev_root, base::JoinWithOr(patterns));
  }

  Result<void> AddChannels() {
    TRY(numbers, ChannelNumbers());
    for (const std::uint64_t number : numbers) {
      const std::string path = fmt::format("{}{}", kChannels, number);
      if (!devices_.nodes.contains(path)) {
        return base::MakeError(ErrorCode::kNotFound, "IMEX channel {}: {} is missing", number,
                               path);
      }
      Device device;
      device.name = fmt::to_string(number);
      AddNode(path, devices_, places_, options_.hooks, device.edits);
      out_.spec.devices.push_back(std::move(device));
    }
    if (out_.spec.devices.empty()) {
      return base::MakeError(ErrorCode::kNotFound, "no device to describe: there is no {}*",
                             kChannels);
    }
    return {};
  }

  [[nodiscard]] Result<std::vector<std::uint64_t>> ChannelNumbers() const {
    std::vector<std::uint64_t> numbers;
    for (const std::string& id : options_.device_ids) {
      if (id == "all") return AllChannels();
      const std::string_view digits = base::WithoutPrefix(id, "channel").value_or(id);
      const std::optional<std::uint64_t> number = base::ParseUnsigned(digits);
      if (!number || *number > kMostChannel) {
        return base::MakeError(ErrorCode::kInvalid,
                               "{}: not an IMEX channel, which has a number from 0 to {}",
                               base::Quoted(id), kMostChannel);
      }
      numbers.push_back(*number);
    }
    return numbers;
  }

  [[nodiscard]] std::vector<std::uint64_t> AllChannels() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& [path, facts] : devices_.nodes) {
      const std::optional<std::string_view> digits = base::WithoutPrefix(path, kChannels);
      const auto number = digits ? base::ParseUnsigned(*digits) : std::nullopt;
      if (number) numbers.push_back(*number);
    }
    return numbers;
  }

  // Those of a GPU or slice were told with it.
  void TellForeign() {
    for (const auto& [path, why] : devices_.foreign) {
      const std::string node = base::JoinPath(places_.dev_root, path);
      const bool told = std::any_of(
          out_.left_out.begin(), out_.left_out.end(),
          [&](const base::Error& error) { return error.ToString().starts_with(node + " "); });
      if (!told) out_.warnings.push_back(fmt::format("{} {}: it is left out", node, why));
    }
  }

  Result<Generated> Finish() {
    TellForeign();
    Simplify(out_.spec);
    if (options_.all_device && with_all_) AddAllDevice(out_.spec);
    if (options_.version_max) {
      TRY(dropped, partita::cdi::Cap(out_.spec, *options_.version_max));
      out_.warnings.insert(out_.warnings.end(), dropped.begin(), dropped.end());
    }
    out_.spec.version = partita::cdi::MinimumVersion(out_.spec).ToString();
    TRY_VOID(partita::cdi::CheckToWrite(out_.spec));
    return std::move(out_);
  }

  const model::Inventory& inventory_;
  const DriverFiles& driver_;
  const DeviceFiles& devices_;
  const Places& places_;
  const GenerateOptions& options_;
  const std::vector<partita::cdi::Miscount> miscounts_;
  bool with_all_ = true;
  Generated out_;
};

}  // namespace

Result<Mode> ParseMode(std::string_view text) {
  // Of a machine with NVML; others have no driver that partita works with.
  if (text == "auto") return Mode::kNvml;
  for (const ModeRow& row : kModes) {
    if (row.name == text) return row.mode;
  }
  if (std::find(std::begin(kOtherMachines), std::end(kOtherMachines), text) !=
      std::end(kOtherMachines)) {
    return base::MakeError(ErrorCode::kUnsupported, "mode {} is not supported", text)
        .WithHint("partita describes machines whose driver has NVML");
  }
  return base::MakeError(ErrorCode::kInvalid, "{}: not a mode", base::Quoted(text));
}

std::vector<std::string> ModeNames() {
  std::vector<std::string> names = {"auto"};
  for (const ModeRow& row : kModes) names.emplace_back(row.name);
  return names;
}

std::string_view ClassOf(Mode mode) { return ModeRowOf(mode).klass; }

Result<Generated> Generate(const model::Inventory& inventory,
                           const DriverFiles& driver,
                           const DeviceFiles& devices,
                           const Places& places,
                           const GenerateOptions& options) {
  return Builder(inventory, driver, devices, places, options).Build();
}

}  // namespace partita::service::cdi
