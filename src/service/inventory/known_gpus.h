// What is known of the GPUs, put together from answers about parts of them. Pure but for the
// answers: time comes as an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/nvml/gpu_look.h"
#include "hw/nvml/link_reader.h"
#include "hw/nvml/reader.h"
#include "model/inventory.h"
#include "service/inventory/snapshot.h"

namespace partita::service::inventory {

using Time = std::chrono::steady_clock::time_point;

// What outlives a session with the driver, and the program: enough to call a GPU by its name when
// it does not answer.
struct Remembered {
  model::PciAddress pci;
  model::GpuUuid uuid;
  std::string name;
  std::optional<model::GpuIndex> index;
  std::optional<model::DeviceMinor> minor;
  bool operator==(const Remembered&) const = default;
};

class KnownGpus {
 public:
  // Those of an earlier life in the same boot.
  explicit KnownGpus(const std::vector<Remembered>& remembered = {});

  // The bus was listed: what was there and is no longer stays, with a fault. One that comes to an
  // address with another UUID is another board, which its next answer shows.
  void OnBus(const std::vector<model::PciAddress>& gpus);

  // A new session with the driver: handles are void, and identity is to be read again.
  void NewSession();

  // What to ask of a GPU so that `parts` are fresh. Whatever was never read is asked for as well,
  // but for readings and holders.
  [[nodiscard]] hw::nvml::GpuQuestion Question(const model::PciAddress& pci,
                                               hw::nvml::Parts parts) const;

  // `whole`: when it ended; absent where it broke off.
  void Absorb(const model::PciAddress& pci,
              const hw::nvml::GpuAnswer& answer,
              std::optional<Time> whole);
  // The GPU's job was given up, or refused because an earlier one still runs.
  void Unanswered(const model::PciAddress& pci, const model::Fault& fault);

  // These are not asked; others are, as before.
  void LeaveAlone(std::set<model::PciAddress> gpus) { left_alone_ = std::move(gpus); }
  [[nodiscard]] bool IsLeftAlone(const model::PciAddress& pci) const {
    return left_alone_.contains(pci);
  }

  // Some GPU of the bus is none of the driver's library.
  [[nodiscard]] bool AnyUnlisted() const;

  // GPUs and problems as a reader of everything would have them.
  [[nodiscard]] hw::nvml::Facts Facts() const;
  [[nodiscard]] std::map<model::PciAddress, Stale> stale() const;
  // When this part was last read in an answer that did not break off.
  [[nodiscard]] std::optional<Time> ReadAt(const model::PciAddress& pci, hw::nvml::Part part) const;
  [[nodiscard]] std::vector<model::PciAddress> addresses() const;
  // Those that answer, by address, with their handles of this session.
  [[nodiscard]] std::vector<hw::nvml::Peer> Peers() const;
  [[nodiscard]] std::vector<Remembered> ToRemember() const;

 private:
  struct PartState {
    bool read = false;
    std::vector<model::Fault> faults;
    std::vector<base::Error> problems;
    std::optional<Time> at = std::nullopt;  // last, of an answer that did not break off
  };
  struct Known {
    model::Gpu gpu;
    bool on_bus = true;
    std::optional<hw::nvml::DeviceHandle> handle;
    std::map<hw::nvml::Part, PartState> parts;
    std::optional<model::Fault> fault;  // of the whole GPU
    std::optional<Time> answered;       // last, in full
    std::optional<std::string> silent;  // why it does not answer now
  };

  static void Forget(Known& known);
  [[nodiscard]] static bool IsUnlisted(const Known& known);
  // The index of each, by address: the driver's of now, and of one that was heard in an earlier
  // session what nobody else has now.
  [[nodiscard]] std::map<model::PciAddress, model::GpuIndex> Indexes() const;
  static void Take(const hw::nvml::PartAnswer& part, Known& known);

  std::map<model::PciAddress, Known> gpus_;
  std::set<model::PciAddress> left_alone_;
};

}  // namespace partita::service::inventory
