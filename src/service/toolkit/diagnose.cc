#include "service/toolkit/diagnose.h"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "config/toml/edit.h"
#include "hw/device_nodes.h"
#include "service/toolkit/mends.h"

namespace partita::service::toolkit {
namespace {

using Findings = std::vector<Finding>;

constexpr std::string_view kSpecFile = "/var/run/cdi/nvidia.yaml";

void Good(Findings& out, std::string id, std::string what) {
  out.push_back({std::move(id), std::move(what), "", Level::kGood});
}
void Warn(Findings& out, std::string id, std::string what, std::string mend = "") {
  out.push_back({std::move(id), std::move(what), std::move(mend), Level::kWarning});
}
void Bad(Findings& out, std::string id, std::string what, std::string mend = "") {
  out.push_back({std::move(id), std::move(what), std::move(mend), Level::kBad});
}
void NotChecked(Findings& out, std::string id, std::string what) {
  out.push_back({std::move(id), std::move(what), "", Level::kNotChecked});
}

// The first few, and how many more.
std::string Some(const std::vector<std::string>& all) {
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> first(
      all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, all.size())));
  std::string text = base::Join(first, ", ");
  if (all.size() > kShown) text += fmt::format(" and {} more", all.size() - kShown);
  return text;
}

// Numbers of a version, so that 4.10 is after 4.9; what is missing is 0.
std::array<std::uint64_t, 3> Numbers(const std::string& version) {
  std::array<std::uint64_t, 3> numbers = {};
  const std::vector<std::string_view> parts = base::Split(version, '.');
  for (std::size_t i = 0; i < std::min(parts.size(), numbers.size()); ++i)
    numbers[i] = base::ParseUnsigned(parts[i]).value_or(0);
  return numbers;
}
bool Before(const std::string& version, std::array<std::uint64_t, 3> other) {
  return !version.empty() && Numbers(version) < other;
}

void CheckBus(const HostFacts& facts, Findings& out) {
  if (facts.bus.empty()) {
    Warn(out, "gpu", "no NVIDIA GPU is on the PCI bus");
    return;
  }
  std::vector<std::string> nouveau;
  for (const hw::sysfs::PciGpu& gpu : facts.bus) {
    if (gpu.driver == "nouveau") nouveau.push_back(gpu.pci.ToString());
  }
  if (nouveau.empty()) {
    Good(out, "gpu",
         fmt::format("{} NVIDIA GPU{} on the PCI bus", facts.bus.size(),
                     facts.bus.size() == 1 ? "" : "s"));
  } else {
    Bad(out, "gpu",
        fmt::format("the kernel's own driver nouveau has {}, so NVIDIA's cannot", Some(nouveau)),
        "modprobe -r nouveau && modprobe nvidia");
  }
}

void CheckModule(const HostFacts& facts, Findings& out) {
  if (!facts.driver) {
    Bad(out, "module", "the kernel module nvidia is not loaded", "modprobe nvidia");
    NotChecked(out, "nodes", "device nodes are known once the module is loaded");
    return;
  }
  Good(out, "module",
       fmt::format("the kernel module nvidia {} is loaded{}", facts.driver->version,
                   facts.driver->open ? " (the open one)" : ""));
  if (!facts.majors.empty() && !facts.majors.contains("nvidia-uvm"))
    Bad(out, "uvm", "the kernel module nvidia-uvm is not loaded: CUDA finds no device",
        "modprobe nvidia-uvm");
}

// Nodes that every container with a GPU needs.
std::vector<std::string> NeededNodes(const HostFacts& facts) {
  std::vector<std::string> paths = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
  for (const hw::procfs::GpuInformation& gpu : facts.gpus) {
    if (gpu.minor && !gpu.excluded)
      paths.push_back(fmt::format("/dev/nvidia{}", gpu.minor->value()));
  }
  return paths;
}

void CheckCapabilities(const HostFacts& facts, Findings& out) {
  std::vector<std::string> missing;
  for (const MissingCapability& node : facts.missing_capabilities) missing.push_back(node.path);
  if (!missing.empty())
    Bad(out, "nodes", fmt::format("device nodes are missing: {}", Some(missing)),
        MakeCapabilities(facts));
}

void CheckNodes(const HostFacts& facts, Findings& out) {
  if (!facts.driver) return;
  std::vector<std::string> missing, minors;
  for (const std::string& path : NeededNodes(facts)) {
    const bool there =
        std::any_of(facts.nodes.begin(), facts.nodes.end(),
                    [&](const model::DeviceNode& node) { return node.path == path; });
    if (!there) missing.push_back(path);
  }
  for (const hw::procfs::GpuInformation& gpu : facts.gpus) {
    if (gpu.minor) minors.push_back(fmt::format("-c {}", gpu.minor->value()));
  }
  const std::string make = "nvidia-modprobe -u " + base::Join(minors, " ");
  const std::vector<model::Problem> majors = hw::CheckMajors(facts.nodes, facts.majors);
  for (const model::Problem& problem : majors) {
    const std::string& what = problem.error.message();
    const std::string node = what.substr(0, what.find(' '));
    Bad(out, "node-major", what, fmt::format("rm {} && {}", base::ShellWord(node), make));
  }
  if (!missing.empty())
    Bad(out, "nodes", fmt::format("device nodes are missing: {}", Some(missing)), make);
  CheckCapabilities(facts, out);
  if (missing.empty() && majors.empty() && facts.missing_capabilities.empty())
    Good(out, "nodes", fmt::format("{} device nodes, as the driver has them", facts.nodes.size()));
}

void CheckLibrary(const HostFacts& facts, Findings& out) {
  if (!facts.library_error.empty()) {
    Bad(out, "library", facts.library_error);
    return;
  }
  if (!facts.answer_error.empty()) {
    Bad(out, "library", fmt::format("the driver does not answer: {}", facts.answer_error),
        facts.versions_differ ? "systemctl reboot" : "");
    return;
  }
  if (facts.library_outside)
    Warn(out, "library",
         fmt::format("the driver root has no library of the driver: {} was taken", facts.library));
  const bool differs = facts.driver && !facts.library_version.empty() &&
                       facts.library_version != facts.driver->version;
  if (differs) {
    Bad(out, "library",
        fmt::format(
            "the library is of driver {} and the loaded kernel module of {}: the driver was "
            "replaced and the old module still runs",
            facts.library_version, facts.driver->version),
        "systemctl reboot");
    return;
  }
  Good(out, "library", fmt::format("the driver's library is {}", facts.library));
}

const EngineFacts* FindEngine(const HostFacts& facts, Engine engine) {
  const auto found = std::find_if(facts.engines.begin(), facts.engines.end(),
                                  [&](const EngineFacts& each) { return each.engine == engine; });
  return found == facts.engines.end() ? nullptr : &*found;
}

void CheckSpecPlaces(const HostFacts& facts, Findings& out) {
  for (const std::string& directory : facts.open_spec_directories) {
    Bad(out, "cdi-directory",
        fmt::format("others than root may write in {}, and so choose what runs as root", directory),
        CloseFile(directory));
  }
  for (const std::string& path : facts.misnamed_specs) {
    Warn(out, "cdi-name", fmt::format("nobody reads {}: CDI files end in .yaml or .json", path),
         fmt::format("mv -n {} {}", base::ShellWord(path),
                     base::ShellWord(path.substr(0, path.size() - 4) + ".yaml")));
  }
  for (const std::string& problem : facts.spec_problems) Bad(out, "cdi-file", problem);
}

void CheckSpecVersion(const HostFacts& facts, const SpecFacts& spec, Findings& out) {
  const EngineFacts* podman = FindEngine(facts, Engine::kPodman);
  if (podman == nullptr) return;
  if (Before(podman->version, {5, 0, 0}) && !Before(spec.version, {0, 6, 1})) {
    Bad(out, "cdi-version",
        fmt::format("podman {} reads CDI up to 0.6.0, and {} has {}", podman->version, spec.path,
                    spec.version),
        Generate(spec.path, " --cdi-version-max 0.6.0"));
  }
  const bool generated = spec.path.starts_with("/var/run/") || spec.path.starts_with("/run/");
  if (!podman->version.empty() && !Before(podman->version, {5, 5, 0}) && generated) {
    Warn(out, "cdi-podman",
         fmt::format("podman {} may not look into /var/run/cdi, where {} is", podman->version,
                     spec.path),
         Generate("/etc/cdi/nvidia.yaml"));
  }
}

// A file cannot be written anew while nodes are missing that the driver has.
std::string MendFor(const HostFacts& facts, const SpecFacts& spec) {
  const auto capability = [&](const std::string& path) {
    return std::any_of(facts.missing_capabilities.begin(), facts.missing_capabilities.end(),
                       [&](const MissingCapability& node) { return node.path == path; });
  };
  const bool nodes = std::all_of(spec.missing.begin(), spec.missing.end(), capability);
  return nodes ? MakeCapabilities(facts) : Generate(spec.path);
}

void CheckSpecs(const HostFacts& facts, Findings& out) {
  CheckSpecPlaces(facts, out);
  bool any = false;
  for (const SpecFacts& spec : facts.specs) {
    if (spec.open)
      Bad(out, "cdi-mode",
          fmt::format("others than root may change {}, and so choose what runs as root", spec.path),
          CloseFile(spec.path));
    if (spec.kind != kGpuKind) continue;
    any = true;
    if (!spec.missing.empty()) {
      Bad(out, "cdi-stale",
          fmt::format("{} names what this host has not: {}", spec.path, Some(spec.missing)),
          MendFor(facts, spec));
    } else {
      Good(out, "cdi",
           fmt::format("{} has {} device{} of {}, CDI {}", spec.path, spec.devices.size(),
                       spec.devices.size() == 1 ? "" : "s", spec.kind, spec.version));
    }
    CheckSpecVersion(facts, spec, out);
  }
  if (!any)
    Warn(out, "cdi", fmt::format("no CDI file has devices of {}", kGpuKind), Generate(kSpecFile));
}

// podman 4.3.1 was seen to pass over the folder below /etc.
void CheckHookFiles(const HostFacts& facts, Findings& out) {
  const EngineFacts* podman = FindEngine(facts, Engine::kPodman);
  const bool has_spec = std::any_of(facts.specs.begin(), facts.specs.end(),
                                    [](const SpecFacts& spec) { return spec.kind == kGpuKind; });
  for (const std::string& path : facts.hook_files) {
    if (has_spec) {
      out.push_back({"hooks.d",
                     fmt::format("{} injects devices into every container, and CDI files do it "
                                 "too: with both, a container gets them twice",
                                 path),
                     "rm " + base::ShellWord(path),
                     podman == nullptr ? Level::kWarning : Level::kBad});
    } else if (podman != nullptr && Before(podman->version, {5, 0, 0}) &&
               path.starts_with("/etc/")) {
      Warn(
          out, "hooks.d",
          fmt::format("podman {} reads {} only where hooks_dir of containers.conf names its folder",
                      podman->version, path),
          fmt::format("mv {} /usr/share/containers/oci/hooks.d/", base::ShellWord(path)));
    }
  }
}

std::string MendFor(const ProgramFacts& hook) {
  if (hook.there) return fmt::format("chmod 0755 {}", base::ShellWord(hook.path));
  return hook.spec.empty() ? "" : Generate(hook.spec);
}

void CheckHooks(const HostFacts& facts, Findings& out) {
  for (const ProgramFacts& hook : facts.hooks) {
    if (!hook.there || !hook.executable) {
      Bad(out, "hook",
          fmt::format("{} is named as a hook and {}: no container with it starts", hook.path,
                      hook.there ? "cannot be executed" : "is not there"),
          MendFor(hook));
    } else if (hook.open) {
      Bad(out, "hook-mode",
          fmt::format("others than root may change {}, which runs as root", hook.path),
          CloseProgram(hook.path));
    } else {
      Good(out, "hook", fmt::format("{} runs as a hook and is root's alone", hook.path));
    }
  }
  CheckHookFiles(facts, out);
}

// The hook of "legacy" adds devices to a container's cgroup without the engine's knowledge; where
// systemd keeps the cgroup, it writes the engine's rules again (nvidia-container-toolkit #48).
std::string LosesDevices(std::string_view engine, std::string_view who) {
  return fmt::format(
      "{} keeps containers in systemd's cgroups: {} loses its GPUs with systemctl daemon-reload",
      engine, who);
}
constexpr std::string_view kLeaveLegacy =
    "nvidia-ctk config --in-place --set nvidia-container-runtime.mode=auto";

// What dockerd says by itself, or does where it is not told.
bool DockerUsesSystemd(const HostFacts& facts, const base::Value& config) {
  const base::Value* options = config.Find("exec-opts");
  if (options != nullptr && options->kind() == base::Value::Kind::kList) {
    for (const base::Value& option : options->items()) {
      if (option.kind() != base::Value::Kind::kString) continue;
      if (const auto driver = base::WithoutPrefix(option.AsString(), "native.cgroupdriver="))
        return *driver == "systemd";
    }
  }
  return facts.has_systemd && facts.unified_cgroups;
}

void CheckDockerCgroups(const HostFacts& facts,
                        const EngineFacts& docker,
                        const base::Value& config,
                        Findings& out) {
  if (!DockerUsesSystemd(facts, config)) return;
  if (facts.runtime_mode == "legacy")
    Warn(out, "docker-cgroups", LosesDevices("docker", "a container of the runtime nvidia"),
         std::string(kLeaveLegacy));
  if (!facts.has_docker_hook) return;
  std::string mend;
  if (Before(docker.version, {25, 0, 0}))
    mend = "partita runtime configure --runtime docker";
  else if (Before(docker.version, {28, 2, 0}))
    mend = "partita runtime configure --runtime docker --enable-cdi";
  Warn(out, "docker-cgroups",
       LosesDevices("docker",
                    Before(docker.version, {25, 0, 0})
                        ? "a container with --gpus, but not one with --runtime nvidia,"
                        : "a container with --gpus, but not one with --device nvidia.com/gpu=all,"),
       std::move(mend));
}

// True where what the engine's files name can be started.
bool CheckRuntimes(const EngineFacts& engine, Findings& out) {
  const std::string name(RowOf(engine.engine).name);
  bool good = true;
  for (const RuntimeFacts& runtime : engine.runtimes) {
    if (runtime.there && runtime.executable) continue;
    good = false;
    if (runtime.path.empty()) {
      Bad(out, name,
          fmt::format("{}'s default runtime {} is in none of its files: no container starts", name,
                      runtime.name));
      continue;
    }
    std::string mend;
    if (runtime.there) {
      mend = "chmod 0755 " + base::ShellWord(runtime.path);
    } else if (runtime.name == "nvidia") {
      mend = "partita runtime configure --runtime " + name;
    }
    Bad(out, name,
        fmt::format("{}'s runtime {} is {}, which {}", name, runtime.name, runtime.path,
                    runtime.there ? "cannot be executed" : "is not there"),
        std::move(mend));
  }
  return good;
}

void CheckDocker(const HostFacts& facts, const EngineFacts& docker, Findings& out) {
  const std::string_view file = RowOf(Engine::kDocker).config;
  base::Result<base::Value> config =
      base::ParseJson(base::Trim(docker.config.value_or("")).empty() ? "{}" : *docker.config);
  if (!config.ok()) {
    Bad(out, "docker", fmt::format("{}: {}", file, config.error().ToString()));
    return;
  }
  const base::Value* runtimes = config->Find("runtimes");
  const base::Value* runtime = runtimes == nullptr ? nullptr : runtimes->Find("nvidia");
  if (runtime == nullptr) {
    Warn(out, "docker", "docker knows no runtime nvidia: --runtime nvidia is refused",
         "partita runtime configure --runtime docker");
  }
  if (CheckRuntimes(docker, out) && runtime != nullptr) {
    Good(out, "docker", fmt::format("docker {} knows the runtime nvidia", docker.version));
  }
  if (!facts.has_docker_hook) {
    Warn(out, "docker-gpus",
         "nvidia-container-runtime-hook is not installed: docker run --gpus is refused",
         "apt install partita-toolkit && systemctl restart docker");
  }
  CheckDockerCgroups(facts, docker, *config, out);
}

// A setting of the CRI plugin, from whichever of the files has it.
const config::Node* CriSetting(const config::TomlText& toml,
                               const std::vector<std::string>& below) {
  for (const char* plugin : {"cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"}) {
    config::TomlPath path = {"plugins", plugin};
    path.insert(path.end(), below.begin(), below.end());
    if (const config::Node* node = toml.Find(path)) return node;
  }
  return nullptr;
}

void CheckContainerd(const HostFacts& facts, const EngineFacts& containerd, Findings& out) {
  bool runtime = false, cdi = false, systemd = false;
  const EngineRow& row = RowOf(Engine::kContainerd);
  const std::array<std::pair<std::string_view, const std::optional<std::string>*>, 2> files = {
      {{row.config, &containerd.config}, {row.drop_in, &containerd.drop_in}}};
  for (const auto& [name, text] : files) {
    if (!*text) continue;
    const base::Result<config::TomlText> toml = config::TomlText::Parse(**text, std::string(name));
    if (!toml.ok()) {
      Bad(out, "containerd", toml.error().ToString());
      return;
    }
    runtime = runtime || CriSetting(*toml, {"containerd", "runtimes", "nvidia"}) != nullptr;
    const config::Node* enabled = CriSetting(*toml, {"enable_cdi"});
    cdi = cdi || (enabled != nullptr && enabled->text == "true");
    const config::Node* cgroup =
        CriSetting(*toml, {"containerd", "runtimes", "nvidia", "options", "SystemdCgroup"});
    systemd = systemd || (cgroup != nullptr && cgroup->text == "true");
  }
  const std::string configure = "partita runtime configure --runtime containerd";
  if (CheckRuntimes(containerd, out) && runtime) {
    Good(out, "containerd",
         fmt::format("containerd {} knows the runtime nvidia", containerd.version));
  }
  if (!runtime) {
    Warn(out, "containerd", "containerd knows no runtime nvidia: pods of that class do not start",
         configure);
  }
  if (Before(containerd.version, {1, 7, 0})) {
    Warn(out, "containerd-cdi",
         fmt::format("containerd {} has no CDI: pods get GPUs by the runtime alone",
                     containerd.version));
  } else if (Before(containerd.version, {2, 0, 0}) && !cdi) {
    Warn(out, "containerd-cdi",
         fmt::format("containerd {} has CDI switched off", containerd.version),
         configure + " --enable-cdi");
  }
  if (systemd && facts.runtime_mode == "legacy")
    Warn(out, "containerd-cgroups", LosesDevices("containerd", "a pod of the runtime nvidia"),
         std::string(kLeaveLegacy));
}

void CheckEngines(const HostFacts& facts, Findings& out) {
  if (facts.engines.empty())
    NotChecked(out, "engines", "no docker, containerd or podman is installed");
  const bool needs_runtime = FindEngine(facts, Engine::kDocker) != nullptr ||
                             FindEngine(facts, Engine::kContainerd) != nullptr;
  if (needs_runtime && !facts.has_runtime)
    Warn(out, "runtime", "nvidia-container-runtime is not installed",
         "apt install partita-toolkit");
  if (const EngineFacts* docker = FindEngine(facts, Engine::kDocker))
    CheckDocker(facts, *docker, out);
  if (const EngineFacts* containerd = FindEngine(facts, Engine::kContainerd))
    CheckContainerd(facts, *containerd, out);
  if (const EngineFacts* podman = FindEngine(facts, Engine::kPodman)) {
    if (Before(podman->version, {4, 1, 0})) {
      Warn(out, "podman",
           fmt::format("podman {} has no CDI: it needs the hook file", podman->version),
           "partita runtime configure --runtime podman");
    } else {
      Good(out, "podman", fmt::format("podman {} takes CDI devices", podman->version));
    }
  }
}

}  // namespace

std::string_view ToString(Level level) {
  switch (level) {
    case Level::kGood: return "good";
    case Level::kWarning: return "warning";
    case Level::kBad: return "bad";
    case Level::kNotChecked: return "not-checked";
  }
  return "";
}

std::vector<Finding> Diagnose(const HostFacts& facts) {
  Findings out;
  CheckBus(facts, out);
  CheckModule(facts, out);
  CheckNodes(facts, out);
  CheckLibrary(facts, out);
  CheckSpecs(facts, out);
  CheckHooks(facts, out);
  CheckEngines(facts, out);
  return out;
}

bool LacksDriver(const HostFacts& facts) {
  return !facts.driver || !facts.library_error.empty() || !facts.answer_error.empty();
}

}  // namespace partita::service::toolkit
