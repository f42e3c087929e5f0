#include "config/known/known_nodes.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"
#include "config/built_in.h"
#include "config/document.h"
#include "config/problems.h"
#include "config/products.h"

namespace partita::config {
namespace {

constexpr std::string_view kNodes = "data/nodes/", kYaml = ".yaml";

std::string NodeNameOf(const BuiltInFile& file) {
  std::string_view name = file.path;
  name.remove_prefix(kNodes.size());
  name.remove_suffix(kYaml.size());
  return std::string(name);
}

std::vector<const BuiltInFile*> NodeFiles() {
  std::vector<const BuiltInFile*> files;
  for (const BuiltInFile& file : BuiltInFiles())
    if (file.path.starts_with(kNodes)) files.push_back(&file);
  return files;
}

// Files that are part of the program: what is missing is our own mistake.
std::string TextAt(const Node& map, std::string_view key, Problems& problems) {
  const Node* node = Require(map, key, problems);
  return node != nullptr ? ReadString(*node, problems).value_or("") : "";
}

model::Driver ReadDriver(const Node& node, Problems& problems) {
  model::Driver driver;
  driver.version = TextAt(node, "version", problems);
  const std::string cuda = TextAt(node, "cuda", problems);
  const std::size_t dot = std::min(cuda.find('.'), cuda.size());
  const auto major = base::ParseUnsigned(std::string_view(cuda).substr(0, dot));
  const auto minor =
      base::ParseUnsigned(std::string_view(cuda).substr(std::min(dot + 1, cuda.size())));
  if (major && minor) {
    driver.cuda.emplace();
    driver.cuda->major = static_cast<decltype(driver.cuda->major)>(*major);
    driver.cuda->minor = static_cast<decltype(driver.cuda->minor)>(*minor);
  }
  return driver;
}

base::Result<model::Gpu> ReadNodeGpu(const Node& node, std::uint32_t index, Problems& problems) {
  TRY(gpu, ProductGpu(TextAt(node, "product", problems)));
  TRY(pci, model::PciAddress::Parse(TextAt(node, "pci", problems)));
  gpu.index = model::GpuIndex(index);
  gpu.minor = model::DeviceMinor(index);
  gpu.pci = pci;
  if (const Node* numa = node.Find("numa"))
    if (const auto number = ReadUnsigned(*numa, problems))
      gpu.numa_node = static_cast<int>(*number);
  if (const Node* uuid = node.Find("uuid")) gpu.uuid = model::GpuUuid(uuid->text);
  return gpu;
}

base::Result<KnownNode> ReadNodeFile(const BuiltInFile& file) {
  TRY(document, Document::Parse(std::string(file.text), std::string(file.path)));
  Problems problems(document);
  KnownNode known;
  if (const Node* driver = Require(document.root(), "driver", problems))
    known.node.driver = ReadDriver(*driver, problems);
  if (const Node* gpus = Require(document.root(), "gpus", problems)) {
    for (const Node& each : gpus->items) {
      const auto index = static_cast<std::uint32_t>(known.node.gpus.size());
      TRY(gpu, ReadNodeGpu(each, index, problems), "{}", file.path);
      known.node.gpus.push_back(std::move(gpu));
    }
  }
  if (const Node* dmi = document.root().Find("dmi"))
    known.machine = TextAt(*dmi, "product_name", problems);
  TRY_VOID(problems.ToResult());
  return known;
}

}  // namespace

std::vector<std::string> KnownNodeNames() {
  std::vector<std::string> names;
  for (const BuiltInFile* file : NodeFiles()) names.push_back(NodeNameOf(*file));
  return names;
}

base::Result<KnownNode> ReadKnownNode(std::string_view name) {
  for (const BuiltInFile* file : NodeFiles())
    if (NodeNameOf(*file) == name) return ReadNodeFile(*file);
  return base::MakeError(base::ErrorCode::kInvalid, "no machine {} is known", base::Quoted(name))
      .WithHint(fmt::format("known are {}", base::Join(KnownNodeNames(), ", ")));
}

}  // namespace partita::config
