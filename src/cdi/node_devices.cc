#include "cdi/node_devices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cdi/text.h"

namespace partita::cdi {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

template <typename T>
struct Word {
  T meaning;
  std::string_view word;
};
constexpr std::array kCapabilities = {
    Word<Capability>{Capability::kCompute, "compute"},
    Word<Capability>{Capability::kCompat32, "compat32"},
    Word<Capability>{Capability::kGraphics, "graphics"},
    Word<Capability>{Capability::kUtility, "utility"},
    Word<Capability>{Capability::kVideo, "video"},
    Word<Capability>{Capability::kDisplay, "display"},
    Word<Capability>{Capability::kNgx, "ngx"},
};
constexpr std::array kKinds = {
    Word<FileKind>{FileKind::kLibrary, "library"},   Word<FileKind>{FileKind::kBinary, "binary"},
    Word<FileKind>{FileKind::kFirmware, "firmware"}, Word<FileKind>{FileKind::kSocket, "socket"},
    Word<FileKind>{FileKind::kConfig, "config"},     Word<FileKind>{FileKind::kXorg, "xorg"},
};

template <typename T, std::size_t N>
std::string_view WordOf(const std::array<Word<T>, N>& words, T meaning) {
  return std::find_if(words.begin(), words.end(),
                      [&](const Word<T>& each) { return each.meaning == meaning; })
      ->word;
}

template <typename T, std::size_t N>
std::optional<T> Meaning(const std::array<Word<T>, N>& words, std::string_view word) {
  for (const Word<T>& each : words) {
    if (each.word == word) return each.meaning;
  }
  return std::nullopt;
}

Value RowValue(const DeviceRow& row) {
  Value map = Value::Map();
  map.Set("index", row.index).Set("minor", row.minor).Set("uuid", row.uuid).Set("pci", row.pci);
  map.Set("brand", row.brand).Set("compute", row.compute).Set("migEnabled", row.mig_enabled);
  if (row.mig) {
    map.Set("mig", Value::Map()
                       .Set("slot", row.mig->slot)
                       .Set("gi", row.mig->gi)
                       .Set("ci", row.mig->ci)
                       .Set("giCap", row.mig->gi_cap)
                       .Set("ciCap", row.mig->ci_cap)
                       .Set("uuid", row.mig->uuid));
  }
  map.Set("cdiName", row.cdi_name);
  return map;
}

Value MiscountValue(const Miscount& miscount) {
  Value map = Value::Map();
  if (miscount.gpu) map.Set("gpu", *miscount.gpu);
  map.Set("from", miscount.from).Set("why", miscount.why).Set("mend", miscount.mend);
  return map;
}

Value FileValue(const DriverFile& file) {
  Value of = Value::List();
  for (const Capability capability : file.of) of.Add(ToString(capability));
  return Value::Map()
      .Set("hostPath", file.host_path)
      .Set("containerPath", file.container_path)
      .Set("kind", WordOf(kKinds, file.kind))
      .Set("of", std::move(of))
      .Set("soname", file.soname)
      .Set("elf32", file.elf32);
}

Value NodeValue(const DeviceNode& node) {
  Value map = Value::Map().Set("path", node.path).Set("hostPath", node.host_path);
  map.Set("major", static_cast<std::uint64_t>(node.major));
  map.Set("minor", static_cast<std::uint64_t>(node.minor));
  if (node.file_mode) map.Set("fileMode", *node.file_mode);
  map.Set("permissions", node.permissions);
  if (node.gid) map.Set("gid", *node.gid);
  return map;
}

// One map of the document. The first thing that is wrong is kept; what is asked for after it is
// empty.
class Fields {
 public:
  Fields(const Value& map, std::string where) : map_(map), where_(std::move(where)) {
    if (map.kind() != Value::Kind::kMap) Fail("", "not a map");
  }

  [[nodiscard]] std::string Text(const char* name) {
    const Value* value = Find(name, Value::Kind::kString);
    return value != nullptr ? value->AsString() : "";
  }
  [[nodiscard]] bool Switch(const char* name) {
    const Value* value = Find(name, Value::Kind::kBool);
    return value != nullptr && value->AsBool();
  }
  [[nodiscard]] std::uint64_t Number(
      const char* name, std::uint64_t most = std::numeric_limits<std::uint32_t>::max()) {
    const Value* value = Find(name, Value::Kind::kUnsigned);
    if (value == nullptr) return 0;
    if (value->AsUnsigned() > most) Fail(name, fmt::format("more than {}", most));
    return value->AsUnsigned();
  }
  [[nodiscard]] std::uint32_t Small(const char* name) {
    return static_cast<std::uint32_t>(Number(name));
  }
  [[nodiscard]] std::optional<std::uint32_t> SmallIfThere(const char* name) {
    if (error_ || map_.Find(name) == nullptr) return std::nullopt;
    return Small(name);
  }
  [[nodiscard]] const Value* MapIfThere(const char* name) {
    if (error_ || map_.Find(name) == nullptr) return nullptr;
    return Find(name, Value::Kind::kMap);
  }
  [[nodiscard]] std::vector<Value> List(const char* name) {
    const Value* value = Find(name, Value::Kind::kList);
    return value != nullptr ? value->items() : std::vector<Value>();
  }

  void Fail(std::string_view name, std::string_view what) {
    if (error_) return;
    const std::string_view dot = name.empty() || where_.empty() ? "" : ".";
    error_ = base::MakeError(ErrorCode::kInvalid, "{}{}{}: {}", where_, dot, name, what);
  }
  void Take(std::optional<Error> other) {
    if (!error_) error_ = std::move(other);
  }
  [[nodiscard]] std::optional<Error> error() && { return std::move(error_); }

 private:
  const Value* Find(const char* name, Value::Kind kind) {
    if (error_) return nullptr;
    const Value* value = map_.Find(name);
    if (value == nullptr) {
      Fail(name, "it is missing");
    } else if (value->kind() != kind) {
      Fail(name, "of another type");
      return nullptr;
    }
    return value;
  }

  const Value& map_;
  std::string where_;
  std::optional<Error> error_;
};

Result<DeviceRow> RowFrom(const Value& value, const std::string& where) {
  Fields fields(value, where);
  DeviceRow row;
  row.index = fields.Small("index");
  row.minor = fields.Small("minor");
  row.uuid = fields.Text("uuid");
  row.pci = fields.Text("pci");
  row.brand = fields.Text("brand");
  row.compute = fields.Text("compute");
  row.mig_enabled = fields.Switch("migEnabled");
  if (const Value* mig = fields.MapIfThere("mig")) {
    Fields inner(*mig, where + ".mig");
    DeviceRow::Mig slice;
    slice.slot = inner.Small("slot");
    slice.gi = inner.Small("gi");
    slice.ci = inner.Small("ci");
    slice.gi_cap = inner.Small("giCap");
    slice.ci_cap = inner.Small("ciCap");
    slice.uuid = inner.Text("uuid");
    row.mig = std::move(slice);
    fields.Take(std::move(inner).error());
  }
  row.cdi_name = fields.Text("cdiName");
  if (std::optional<Error> error = std::move(fields).error()) return *std::move(error);
  return row;
}

Result<Miscount> MiscountFrom(const Value& value, const std::string& where) {
  Fields fields(value, where);
  Miscount miscount;
  miscount.gpu = fields.SmallIfThere("gpu");
  miscount.from = fields.Small("from");
  miscount.why = fields.Text("why");
  miscount.mend = fields.Text("mend");
  if (std::optional<Error> error = std::move(fields).error()) return *std::move(error);
  return miscount;
}

Result<DriverFile> FileFrom(const Value& value, const std::string& where) {
  Fields fields(value, where);
  DriverFile file;
  file.host_path = fields.Text("hostPath");
  file.container_path = fields.Text("containerPath");
  const std::string kind = fields.Text("kind");
  const std::optional<FileKind> known = Meaning(kKinds, kind);
  if (!known) fields.Fail("kind", "no kind of file");
  file.kind = known.value_or(FileKind::kLibrary);
  for (const Value& item : fields.List("of")) {
    const std::optional<Capability> capability =
        item.kind() == Value::Kind::kString ? ParseCapability(item.AsString()) : std::nullopt;
    if (!capability) fields.Fail("of", "no capability");
    if (capability) file.of.push_back(*capability);
  }
  file.soname = fields.Text("soname");
  file.elf32 = fields.Switch("elf32");
  if (std::optional<Error> error = std::move(fields).error()) return *std::move(error);
  return file;
}

Result<DeviceNode> NodeFrom(const Value& value, const std::string& where) {
  Fields fields(value, where);
  DeviceNode node;
  node.path = fields.Text("path");
  node.host_path = fields.Text("hostPath");
  node.major = fields.Small("major");
  node.minor = fields.Small("minor");
  node.file_mode = fields.SmallIfThere("fileMode");
  node.permissions = fields.Text("permissions");
  node.gid = fields.SmallIfThere("gid");
  if (std::optional<Error> error = std::move(fields).error()) return *std::move(error);
  return node;
}

template <typename T, typename Read>
Result<std::vector<T>> ListFrom(const std::vector<Value>& items, const char* name, Read read) {
  std::vector<T> list;
  for (const Value& item : items) {
    TRY(value, read(item, fmt::format("{}[{}]", name, list.size())));
    list.push_back(std::move(value));
  }
  return list;
}

// The version comes first: a document of another one may have other members.
Result<void> CheckApiVersion(const Value& value) {
  const Value* version = value.Find("apiVersion");
  if (version == nullptr || version->kind() != Value::Kind::kString)
    return Error(ErrorCode::kInvalid, "apiVersion: it is missing");
  if (version->AsString() != kDevicesApiVersion) {
    return base::MakeError(ErrorCode::kUnsupported, "it is a document of {}, not of {}",
                           base::Quoted(version->AsString()), kDevicesApiVersion)
        .WithHint("the agent and this program are of different versions");
  }
  return {};
}

}  // namespace

std::string_view ToString(Capability capability) { return WordOf(kCapabilities, capability); }

std::optional<Capability> ParseCapability(std::string_view text) {
  return Meaning(kCapabilities, text);
}

Value ToValue(const NodeDevices& node) {
  Value rows = Value::List(), files = Value::List(), nodes = Value::List();
  Value miscounts = Value::List();
  for (const Miscount& miscount : node.miscounts) miscounts.Add(MiscountValue(miscount));
  for (const DeviceRow& row : node.rows) rows.Add(RowValue(row));
  for (const DriverFile& file : node.files) files.Add(FileValue(file));
  for (const DeviceNode& each : node.control_nodes) nodes.Add(NodeValue(each));
  return Value::Map()
      .Set("apiVersion", kDevicesApiVersion)
      .Set("kind", "NodeDevices")
      .Set("generation", node.generation)
      .Set("driverVersion", node.driver_version)
      .Set("cuda", node.cuda)
      .Set("driverRoot", node.driver_root)
      .Set("devRoot", node.dev_root)
      .Set("capsMajor", node.caps_major)
      .Set("devices", std::move(rows))
      .Set("miscounts", std::move(miscounts))
      .Set("controlNodes", std::move(nodes))
      .Set("files", std::move(files))
      .Set("spec", ToValue(node.spec));
}

Result<NodeDevices> NodeDevicesFrom(const Value& value) {
  TRY_VOID(CheckApiVersion(value));
  Fields fields(value, "");
  NodeDevices node;
  node.generation = fields.Number("generation", std::numeric_limits<std::uint64_t>::max());
  node.driver_version = fields.Text("driverVersion");
  node.cuda = fields.Text("cuda");
  node.driver_root = fields.Text("driverRoot");
  node.dev_root = fields.Text("devRoot");
  node.caps_major = fields.Small("capsMajor");
  const std::vector<Value> rows = fields.List("devices"), nodes = fields.List("controlNodes"),
                           files = fields.List("files"), miscounts = fields.List("miscounts");
  const Value* spec = fields.MapIfThere("spec");
  if (spec == nullptr) fields.Fail("spec", "it is missing");
  if (std::optional<Error> error = std::move(fields).error()) return *std::move(error);
  TRY(read_rows, ListFrom<DeviceRow>(rows, "devices", RowFrom));
  TRY(read_miscounts, ListFrom<Miscount>(miscounts, "miscounts", MiscountFrom));
  TRY(read_nodes, ListFrom<DeviceNode>(nodes, "controlNodes", NodeFrom));
  TRY(read_files, ListFrom<DriverFile>(files, "files", FileFrom));
  TRY(read_spec, Parse(base::ToJsonLine(*spec), "spec"));
  node.rows = std::move(read_rows);
  node.miscounts = std::move(read_miscounts);
  node.control_nodes = std::move(read_nodes);
  node.files = std::move(read_files);
  node.spec = std::move(read_spec);
  return node;
}

}  // namespace partita::cdi
