#include "config/plugin_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"
#include "config/plugin_config_options.h"
#include "config/plugin_config_reader.h"
#include "config/resource_name.h"

namespace partita::config {
namespace {

constexpr std::string_view kVersion = "v1";
constexpr std::string_view kUseNodeFeatureApi = "flags.useNodeFeatureAPI";
const std::array<std::string, 2> kResourcesKeys = {"gpus", "mig"};
const std::array<std::string, 2> kPatternKeys = {"pattern", "name"};

template <std::size_t N, typename Enum>
std::string_view Word(const std::array<std::string_view, N>& words, Enum value) {
  return words.at(static_cast<std::size_t>(value));
}

// The words that may follow "flags." or "flags.plugin." or nothing.
std::vector<std::string> KnownBelow(const std::string& prefix) {
  std::vector<std::string> known;
  if (prefix.empty()) known = {"version", "flags", "resources", "sharing"};
  for (const PluginOption& option : PluginOptions()) {
    const auto rest = base::WithoutPrefix(option.key, prefix);
    if (!rest || rest->empty()) continue;
    std::string word(rest->substr(0, rest->find('.')));
    if (std::find(known.begin(), known.end(), word) == known.end())
      known.push_back(std::move(word));
  }
  return known;
}

bool IsSection(const std::string& key) {
  const auto options = PluginOptions();
  return std::any_of(options.begin(), options.end(),
                     [&](const PluginOption& option) { return option.key.starts_with(key + "."); });
}

// Users put renameByDefault one level too high or too low.
std::string BelongsElsewhere(const std::string& word) {
  if (word == "renameByDefault" || word == "failRequestsGreaterThanOne")
    return "it belongs under \"sharing.timeSlicing\"";
  for (const PluginOption& option : PluginOptions()) {
    const std::size_t dot = option.key.rfind('.');
    if (dot != std::string::npos && option.key.substr(dot + 1) == word)
      return fmt::format("it belongs under \"{}\"", option.key.substr(0, dot));
  }
  return "";
}

void WarnForeign(const Node& key, const std::string& name, PluginReading& reading) {
  if (reading.for_feature_discovery) return;
  reading.warnings.Add(
      key, fmt::format("\"{}\" is for gpu-feature-discovery", name),
      reading.for_agent ? "write \"labels.file\" and \"labels.resync\" in the agent's configuration"
                        : "the device plugin does nothing with it");
}

// Of what is feature discovery's, an agent takes where labels go.
bool IsTaken(const std::string& key, const PluginReading& reading) {
  return reading.for_feature_discovery || (reading.for_agent && key == kUseNodeFeatureApi);
}

void ReadOptionAt(const PluginOption& option,
                  const Node::Entry& entry,
                  PluginReading& reading,
                  PluginConfig& config) {
  if (entry.value.IsNull()) return;
  const std::optional<std::vector<std::string>> words =
      ReadOption(option, entry.value, reading.errors);
  if (!words || !option.set) return;
  if (option.for_feature_discovery && !IsTaken(option.key, reading)) return;
  option.set(config, *words);
  reading.Give(option.key, entry.value);
}

void ReadMap(const Node& map,
             const std::string& prefix,
             PluginReading& reading,
             PluginConfig& config) {
  for (const Node::Entry& entry : map.entries) {
    const std::string key = prefix + entry.key.text;
    if (const PluginOption* option = FindPluginOption(key)) {
      ReadOptionAt(*option, entry, reading, config);
      if (key == kUseNodeFeatureApi && !reading.for_agent) WarnForeign(entry.key, key, reading);
    } else if (IsSection(key)) {
      // An empty section says nothing.
      if (entry.value.IsNull()) continue;
      if (key == "flags.gfd") WarnForeign(entry.key, key, reading);
      if (ExpectMap(entry.value, reading.errors, fmt::format("the settings of \"{}\"", key)))
        ReadMap(entry.value, key + ".", reading, config);
    } else if (key == "sharing") {
      ReadSharing(entry.value, reading, config);
    } else if (key == "resources") {
      ReadResources(entry.key, entry.value, reading, config);
    } else if (key != "version") {
      reading.Unknown(entry.key, KnownBelow(prefix));
    }
  }
}

void CheckVersion(const Node& root, Problems& problems) {
  const Node* node = root.Find("version");
  if (node == nullptr || node->IsNull()) return;
  const std::optional<std::string> text = ReadString(*node, problems);
  if (text && !text->empty() && *text != kVersion)
    problems.Add(*node, fmt::format("unknown version: {}", *text),
                 fmt::format("only {} exists", kVersion));
}

std::vector<ResourcePattern> ReadPatterns(const Node& node, PluginReading& reading) {
  std::vector<ResourcePattern> patterns;
  if (node.IsNull() || !ExpectList(node, reading.errors, "a list of patterns")) return patterns;
  for (const Node& item : node.items) {
    if (!ExpectMap(item, reading.errors, "a pattern with its name")) continue;
    reading.WarnUnknown(item, kPatternKeys);
    const Node* pattern = Require(item, "pattern", reading.errors);
    const Node* name = Require(item, "name", reading.errors);
    if (pattern == nullptr || name == nullptr) continue;
    const std::optional<std::string> text = ReadString(*pattern, reading.errors);
    const std::optional<std::string> named = ReadString(*name, reading.errors);
    if (text && text->empty())
      reading.errors.Add(*pattern, "an empty pattern matches nothing", "write \"*\" for all");
    if (!text || !named) continue;
    base::Result<std::string> full = FullResourceName(*named);
    if (full.ok())
      patterns.push_back({*text, *std::move(full)});
    else
      reading.errors.Add(*name, full.error().message(), full.error().hint());
  }
  return patterns;
}

base::Result<void> ApplyPluginOverrides(std::span<const PluginOverride> overrides,
                                        PluginConfig& config,
                                        std::map<std::string, std::string>& given) {
  for (const PluginOverride& each : overrides) {
    const PluginOption* option = FindPluginOption(each.key);
    PARTITA_CHECK(option != nullptr && option->set);
    const std::vector<std::string> words = WordsOf(*option, each.value);
    for (const std::string& word : words) {
      if (std::optional<base::Error> wrong = WrongWord(*option, word))
        return (*std::move(wrong)).Within(each.where);
    }
    if (words.empty() && option->type == PluginOption::Type::kChoices) {
      return base::MakeError(base::ErrorCode::kInvalid, "{}: expected {}, not \"\"", each.where,
                             base::JoinWithOr(option->choices));
    }
    option->set(config, words);
    given[each.key] = each.where;
  }
  return {};
}

// Sets a value below a path of maps: "flags.plugin.deviceIDStrategy".
void SetBelow(base::Value& map, std::string_view path, base::Value value) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) {
    map.Set(std::string(path), std::move(value));
    return;
  }
  const std::string section(path.substr(0, dot));
  const base::Value* before = map.Find(section);
  base::Value below = before == nullptr ? base::Value::Map() : *before;
  SetBelow(below, path.substr(dot + 1), std::move(value));
  map.Set(section, std::move(below));
}

base::Value PatternsDocument(const std::vector<ResourcePattern>& patterns) {
  base::Value list = base::Value::List();
  for (const ResourcePattern& each : patterns)
    list.Add(base::Value::Map().Set("pattern", each.pattern).Set("name", each.name));
  return list;
}

base::Value DevicesDocument(const SharedDevices& devices) {
  if (devices.kind == SharedDevices::Kind::kAll) return "all";
  if (devices.kind == SharedDevices::Kind::kCount) return devices.count;
  base::Value list = base::Value::List();
  for (const std::string& device : devices.list) list.Add(device);
  return list;
}

base::Value SizesDocument(const std::vector<ShareSize>& shares) {
  base::Value list = base::Value::List();
  for (const ShareSize& size : shares)
    list.Add(base::Value::Map()
                 .Set("name", size.name)
                 .Set("replicas", size.replicas)
                 .Set("memory", MemoryText(size))
                 .Set("threads", size.threads));
  return list;
}

base::Value SharingDocument(const SharingSection& section) {
  base::Value resources = base::Value::List();
  for (const SharedResource& each : section.resources) {
    base::Value resource = base::Value::Map().Set("name", each.name);
    if (each.rename) resource.Set("rename", *each.rename);
    resource.Set("devices", DevicesDocument(each.devices));
    if (each.shares.empty()) {
      resource.Set("replicas", each.replicas);
    } else {
      resource.Set("shares", SizesDocument(each.shares));
    }
    resources.Add(std::move(resource));
  }
  return base::Value::Map()
      .Set("renameByDefault", section.rename_by_default)
      .Set("failRequestsGreaterThanOne", section.fail_requests_greater_than_one)
      .Set("resources", std::move(resources));
}

}  // namespace

std::string_view ToString(MigStrategy strategy) {
  static constexpr std::array<std::string_view, 3> kWords = {"none", "single", "mixed"};
  return Word(kWords, strategy);
}

std::string_view ToString(ListStrategy strategy) {
  static constexpr std::array<std::string_view, 4> kWords = {"envvar", "volume-mounts",
                                                             "cdi-annotations", "cdi-cri"};
  return Word(kWords, strategy);
}

std::string_view ToString(IdStrategy strategy) {
  static constexpr std::array<std::string_view, 2> kWords = {"uuid", "index"};
  return Word(kWords, strategy);
}

std::string_view ToString(SharePolicy policy) {
  static constexpr std::array<std::string_view, 3> kWords = {"distributed", "packed", "spread"};
  return Word(kWords, policy);
}

bool PluginConfig::UsesCdi() const {
  return std::any_of(list_strategies.begin(), list_strategies.end(), [](ListStrategy strategy) {
    return strategy == ListStrategy::kCdiCri || strategy == ListStrategy::kCdiAnnotations;
  });
}

bool SharedResource::operator==(const SharedResource& other) const {
  return name == other.name && rename == other.rename && replicas == other.replicas &&
         shares == other.shares && devices == other.devices;
}

bool SharingSection::operator==(const SharingSection& other) const {
  return rename_by_default == other.rename_by_default &&
         fail_requests_greater_than_one == other.fail_requests_greater_than_one &&
         resources == other.resources;
}

bool ResourcePattern::Matches(std::string_view text) const {
  const std::vector<std::string_view> pieces = base::Split(pattern, '*');
  if (pieces.size() == 1) return text == pattern;
  if (!text.starts_with(pieces.front())) return false;
  std::size_t at = pieces.front().size();
  for (std::size_t i = 1; i + 1 < pieces.size(); ++i) {
    const std::size_t found = text.find(pieces[i], at);
    if (found == std::string_view::npos) return false;
    at = found + pieces[i].size();
  }
  return text.size() >= at + pieces.back().size() && text.ends_with(pieces.back());
}

void PluginReading::Give(const std::string& key, const Node& node) {
  given[key] = fmt::format("{}:{}:{}", document.file_name(), node.line, node.column);
}

void PluginReading::Unknown(const Node& key, std::span<const std::string> known) {
  const auto same = std::find_if(known.begin(), known.end(), [&](const std::string& each) {
    return base::ToLower(each) == base::ToLower(key.text);
  });
  std::string hint = BelongsElsewhere(key.text);
  if (same != known.end()) {
    hint = fmt::format("case counts: write \"{}\"", *same);
  } else if (hint.empty()) {
    const std::string near = base::DidYouMean(key.text, known);
    hint = near.empty() ? "known here: " + base::Join(known, ", ")
                        : fmt::format("did you mean \"{}\"?", near);
  }
  const std::string text = fmt::format("unknown key {}", base::Quoted(key.text));
  (strict ? errors : warnings).Add(key, strict ? text : text + " is ignored", hint);
}

void PluginReading::WarnUnknown(const Node& map, std::span<const std::string> known) {
  for (const Node::Entry& entry : map.entries)
    if (std::find(known.begin(), known.end(), entry.key.text) == known.end())
      Unknown(entry.key, known);
}

void ReadResources(const Node& key,
                   const Node& node,
                   PluginReading& reading,
                   PluginConfig& config) {
  if (node.IsNull() || !ExpectMap(node, reading.errors, "the settings of \"resources\"")) return;
  reading.WarnUnknown(node, kResourcesKeys);
  std::vector<ResourcePattern> gpus, mig;
  if (const Node* list = node.Find("gpus")) gpus = ReadPatterns(*list, reading);
  if (const Node* list = node.Find("mig")) mig = ReadPatterns(*list, reading);
  if (gpus.empty() && mig.empty()) return;
  if (!reading.honour_resources) {
    reading.warnings.Add(key, "\"resources\" is ignored, as NVIDIA's device plugin ignores it",
                         "set \"devicePlugin.honourResources: true\" in the agent's configuration");
    return;
  }
  config.gpu_names = std::move(gpus);
  config.mig_names = std::move(mig);
  reading.Give("resources", key);
}

void WarnOfNoEffect(const Node& root, PluginReading& reading) {
  const Node* flags = root.Find("flags");
  const Node* value = flags == nullptr ? nullptr : flags->Find("failOnInitError");
  if (value == nullptr || !value->IsScalar() || value->text != "true") return;
  reading.warnings.Add(
      *flags->FindKey("failOnInitError"), "\"failOnInitError\" means nothing to an agent",
      "it stays and waits for the driver; under the name nvidia-device-plugin it ends");
}

void WarnOfForeignRoots(const Node& root, PluginReading& reading) {
  struct Row {
    const char* section;  // below "flags"
    const char* key;
    const char* instead;
  };
  constexpr std::array kRows = {
      Row{"", "nvidiaDriverRoot", "write \"node.driverRoot\" in the agent's configuration"},
      Row{"", "nvidiaDevRoot", "write \"node.devRoot\" in the agent's configuration"},
      Row{"", "mpsRoot", "write \"mps.root\" in the agent's configuration"},
      Row{"plugin", "containerDriverRoot",
          "the agent finds the driver below \"node.hostRoot\" and \"node.driverRoot\" of its "
          "configuration"}};
  const Node* flags = root.Find("flags");
  for (const Row& row : kRows) {
    const std::string section = row.section;
    const Node* map = flags == nullptr || section.empty() ? flags : flags->Find(section);
    const Node* value = map == nullptr ? nullptr : map->Find(row.key);
    if (value == nullptr || !value->IsScalar()) continue;
    const std::string key = section.empty() ? row.key : section + "." + row.key;
    if (value->text == FindPluginOption("flags." + key)->product_default) continue;
    reading.warnings.Add(*map->FindKey(row.key),
                         fmt::format("\"{}\" means nothing to an agent", key), row.instead);
  }
}

PluginConfig DefaultPluginConfig(PluginDefaults defaults) {
  PluginConfig config;
  for (const PluginOption& option : PluginOptions()) {
    if (!option.set) continue;
    const bool reference = defaults != PluginDefaults::kProduct;
    option.set(config,
               WordsOf(option, reference ? option.reference_default : option.product_default));
  }
  return config;
}

void ReadPluginDocument(const Node& root, PluginReading& reading, PluginConfig& config) {
  if (root.IsNull() || !ExpectMap(root, reading.errors, "the device plugin's configuration"))
    return;
  CheckVersion(root, reading.errors);
  ReadMap(root, "", reading, config);
}

base::Result<PluginConfigResult> ParsePluginConfig(
    std::string text,
    std::string file_name,
    PluginDefaults defaults,
    bool strict,
    bool honour_resources,
    std::span<const PluginOverride> flags_and_variables) {
  TRY(document, Document::Parse(std::move(text), std::move(file_name)));
  Problems errors(document), warnings(document);
  PluginReading reading{document, errors,           warnings,
                        strict,   honour_resources, defaults == PluginDefaults::kFeatureDiscovery};
  reading.for_agent = defaults == PluginDefaults::kProduct;
  PluginConfigResult result{DefaultPluginConfig(defaults)};
  ReadPluginDocument(document.root(), reading, result.config);
  if (defaults == PluginDefaults::kProduct) {
    WarnOfNoEffect(document.root(), reading);
    WarnOfForeignRoots(document.root(), reading);
  }
  TRY_VOID(errors.ToResult());
  result.warnings = warnings.RenderEach();
  result.given = std::move(reading.given);
  TRY_VOID(ApplyPluginOverrides(flags_and_variables, result.config, result.given));
  return result;
}

base::Value PluginConfigDocument(const PluginConfig& config) {
  base::Value document = base::Value::Map().Set("version", kVersion);
  for (const PluginOption& option : PluginOptions())
    if (option.get) SetBelow(document, option.key, option.get(config));
  if (const std::optional<bool>& asked = config.feature_discovery.use_node_feature_api)
    SetBelow(document, kUseNodeFeatureApi, *asked);
  base::Value resources = base::Value::Map();
  if (!config.gpu_names.empty()) resources.Set("gpus", PatternsDocument(config.gpu_names));
  if (!config.mig_names.empty()) resources.Set("mig", PatternsDocument(config.mig_names));
  if (!resources.members().empty()) document.Set("resources", std::move(resources));
  if (config.time_slicing)
    SetBelow(document, "sharing.timeSlicing", SharingDocument(*config.time_slicing));
  if (config.mps) SetBelow(document, "sharing.mps", SharingDocument(*config.mps));
  return document;
}

}  // namespace partita::config
