// What a `mig` command is asked to make of GPUs: a configuration of a file, or words on the command
// line.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "config/mig_config.h"
#include "model/inventory.h"
#include "model/mig_wanted.h"
#include "service/mig/boot_selection.h"
#include "service/mig/node_goal.h"

namespace partita::cli {

// What --want says: "1g.5gb:7,3g.20gb", "none" (MIG on and empty) or "off".
struct WantedText {
  struct Entry {
    std::string profile;
    std::uint32_t count = 1;
    int column = 1;  // of the name, in characters from 1
  };
  std::string text;
  bool enabled = true;
  std::vector<Entry> entries;

  // kInvalid with the place, in caret form.
  static base::Result<WantedText> Parse(std::string text);
};

// The devices that are meant on GPUs of this geometry; problems in caret form.
[[nodiscard]] base::Result<model::GpuGoal> ResolveWanted(const WantedText& wanted,
                                                         const model::Gpu& gpu);

// "-" is standard input.
[[nodiscard]] base::Result<config::MigConfigFile> LoadMigConfig(const std::string& path);

class MigRequest {
 public:
  // From --config-file with --selected-config, or --want; each with --gpu.
  [[nodiscard]] static base::Result<MigRequest> Read(const base::Invocation& invocation);

  // What the boot unit would have to select for the same: nothing for words, or for some GPUs only.
  [[nodiscard]] service::mig::BootSelection Selection() const;

  // For the GPUs that --gpu names, else for all that are meant. Fails (kInvalid) where it is for no
  // GPU, whether it turns MIG on or off, for none that can do the MIG that is wanted, or for one
  // that is not there. Empty where it turns MIG off on GPUs that cannot do it.
  [[nodiscard]] base::Result<service::mig::NodeGoal> Resolve(const model::Inventory& node) const;
  // Says on standard error which GPUs "all" leaves out, since they cannot be asked.
  void WarnOfLeftOut(const model::Inventory& node, const service::mig::NodeGoal& goal) const;
  // What Resolve does for modes alone, on a look without a driver.
  [[nodiscard]] base::Result<service::mig::NodeGoal> ResolveModes(
      const model::Inventory& node) const;

 private:
  [[nodiscard]] bool WantsMig() const;
  // Whether it is about this GPU, whatever that can do.
  [[nodiscard]] bool Means(const model::Gpu& gpu) const;
  [[nodiscard]] base::Result<void> CheckMeant(const model::Inventory& node,
                                              const service::mig::NodeGoal& goal) const;
  [[nodiscard]] base::Result<service::mig::NodeGoal> ResolveWords(
      const model::Inventory& node) const;
  [[nodiscard]] base::Result<service::mig::NodeGoal> ResolveFile(
      const model::Inventory& node) const;

  std::vector<std::string> gpus_;
  std::string path_;  // of the file
  std::optional<WantedText> wanted_;
  std::shared_ptr<const config::MigConfigFile> file_;
  const config::MigConfig* config_ = nullptr;  // inside file_
};

}  // namespace partita::cli
