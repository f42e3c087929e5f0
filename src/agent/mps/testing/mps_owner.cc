// Owns MPS domains on this node until its standard input ends, as the agent does: for tests of what
// happens to them when one of the processes around them is killed.
//
// Usage: mps_owner PROGRAM ROOT
//
//   domain NAME UUID MEBIBYTES PERCENT [ADDRESS]   one that will be wanted, of one GPU
//   hold UUID, free UUID                           somebody has a share of it, nobody has any more
//   go [exclusive]                                 these and no others are wanted from now on
//
// Prints all conditions whenever they change: "GPU-1 ready, GPU-2 waiting (why)".
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/mps/child_runner.h"
#include "agent/mps/domains.h"
#include "agent/mps/known_process.h"
#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "hw/compute_mode.h"

namespace {

using namespace partita;

using Policy = service::mps::ComputeModePolicy;

class Owner {
 public:
  Owner(net::Loop& loop,
        base::Log& log,
        agent::mps::Machine machine,
        agent::mps::ComputeModes modes)
      : loop_(loop),
        domains_(
            loop,
            log,
            std::move(machine),
            std::move(modes),
            [this] { Tell(); },
            [this] { return holders_; }),
        input_(loop.NewWatch("input", STDIN_FILENO)) {
    input_->OnReadable([this] { Read(); });
  }

 private:
  void Read() {
    std::array<char, 4096> buffer{};
    const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count <= 0) return loop_.Stop();
    rest_.append(buffer.data(), static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = rest_.find('\n')) != std::string::npos;) {
      Obey(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
  }

  void Obey(const std::string& line) {
    const std::vector<std::string_view> words = base::SplitWords(line);
    if (words.size() >= 5 && words[0] == "domain") {
      service::mps::Domain domain;
      domain.name = words[1];
      domain.members.resize(1);
      domain.members[0].uuid = words[2];
      domain.members[0].mig = words[2].starts_with("MIG-");
      domain.memory = {model::Mebibytes(base::ParseUnsigned(words[3]).value_or(0))};
      domain.threads =
          model::Percent(static_cast<std::uint32_t>(base::ParseUnsigned(words[4]).value_or(0)));
      if (words.size() > 5) domain.members[0].pci = model::PciAddress::Parse(words[5]).value();
      wanted_.push_back(std::move(domain));
    } else if (words.size() == 2 && words[0] == "hold") {
      holders_.shares.emplace(words[1]);
    } else if (words.size() == 2 && words[0] == "free") {
      holders_.shares.erase(std::string(words[1]));
    } else if (line == "go" || line == "go exclusive") {
      domains_.Want(std::exchange(wanted_, {}),
                    line == "go" ? Policy::kUnchanged : Policy::kExclusive);
      Tell();
    }
  }

  void Tell() {
    std::vector<std::string> all;
    for (const auto& [name, condition] : domains_.conditions()) {
      all.push_back(fmt::format("{} {}{}", name, ToString(condition.phase),
                                condition.why.empty() ? "" : " (" + condition.why + ")"));
    }
    std::string text = all.empty() ? "nothing" : base::Join(all, ", ");
    if (text == told_) return;
    told_ = std::move(text);
    std::printf("%s\n", told_.c_str());
    std::fflush(stdout);
  }

  net::Loop& loop_;
  service::mps::Holders holders_;
  agent::mps::Domains domains_;
  std::unique_ptr<net::Watch> input_;
  std::vector<service::mps::Domain> wanted_;
  std::string rest_, told_;
};

base::Result<void> Own(const char* program, const char* root) {
  TRY(boot, base::ReadFile("/proc/sys/kernel/random/boot_id"));
  const std::unique_ptr<net::Loop> loop = net::NewLoop();
  const base::SystemClock clock;
  base::Log log(clock, base::StandardErrorSink());
  const std::string boot_id(base::Trim(boot));
  hw::nvml::Driver driver{{}};
  agent::mps::ComputeModes modes(
      std::string(root) + ".modes", boot_id,
      {.read = [&](const model::PciAddress& gpu) { return hw::ReadComputeMode(driver, gpu); },
       .set = [&](const model::PciAddress& gpu,
                  model::ComputeMode mode) { return hw::SetComputeMode(driver, gpu, mode); }},
      {.root = root, .pid_namespace = agent::mps::OurPidNamespace()});
  Owner owner(*loop, log,
              {.root = root,
               .boot_id = boot_id,
               .runner = std::make_shared<agent::mps::ChildRunner>(program)},
              std::move(modes));
  loop->Run();
  return {};
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const base::Result<void> end = Own(words[1], words[2]);
  if (!end.ok()) std::fprintf(stderr, "mps_owner: %s\n", end.error().ToString().c_str());
  return end.ok() ? 0 : 1;
}
