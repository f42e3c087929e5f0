// Any bytes as a config.json: refused, or a document that keeps its bytes until it is edited, and
// is one after that, with everything else still in it.
#include <string>

#include "base/json.h"
#include "cdi/inject.h"
#include "fuzz/target.h"
#include "oci/spec.h"
#include "oci/state.h"

namespace {

using partita::base::Value;

// One device with something of every kind.
partita::cdi::Spec Everything() {
  partita::cdi::Spec spec;
  spec.kind = "nvidia.com/gpu";
  spec.devices.push_back({"0", {}, {}});
  partita::cdi::ContainerEdits& edits = spec.devices[0].edits;
  edits.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  edits.device_nodes.push_back({.path = "/dev/nvidia0", .type = "c", .major = 195});
  edits.net_devices = {{"eth0", "net1"}};
  edits.hooks.push_back({"createContainer", "/h", {"h"}, {"A=b"}, {}});
  edits.mounts.push_back({"/a", "/usr/lib/a", {"ro", "rbind"}, ""});
  edits.intel_rdt.emplace();
  edits.additional_gids = {44};
  return spec;
}

partita::base::Result<partita::base::FileFacts> Nowhere(const std::string& path) {
  return partita::base::ErrnoError(path, 2);
}

}  // namespace

FUZZ_TARGET(oci_spec) {
  static const partita::cdi::Spec everything = Everything();
  const std::string text(partita::fuzz::AsText(data, size));
  static_cast<void>(partita::oci::ParseState(text).ok());
  auto spec = partita::oci::Spec::Parse(text);
  if (!spec.ok()) return 0;
  PARTITA_CHECK(spec->Text() == text);
  static_cast<void>(spec->privileged());
  static_cast<void>(spec->annotations());
  const auto before = partita::base::ParseJson(text);

  const partita::cdi::Registry::Found found{&everything, &everything.devices[0]};
  PARTITA_CHECK(
      partita::cdi::Inject(*spec, {&found, 1}, partita::cdi::Order::kCommonFirst, Nowhere).ok());
  auto again = partita::oci::Spec::Parse(spec->Text());
  PARTITA_CHECK(again.ok() && again->Env("NVIDIA_VISIBLE_DEVICES") == "void");
  const auto after = partita::base::ParseJson(spec->Text());
  for (const Value::Member& member : before->members()) {
    const Value* now = after->Find(member.key);
    PARTITA_CHECK(now != nullptr);
    const bool edited = member.key == "process" || member.key == "linux" || member.key == "hooks" ||
                        member.key == "mounts";
    PARTITA_CHECK(edited || *now == member.value);
  }
  return 0;
}
