// Any bytes as NVIDIA_VISIBLE_DEVICES, as a swarm's variable, as a mount and as an annotation: a
// request whose devices are texts of it, each once, or an error.
#include <set>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "fuzz/target.h"
#include "request/device_id.h"
#include "request/mode.h"
#include "request/request.h"

namespace {

using partita::base::Value;
using partita::request::Kind;
using partita::request::Request;

Value Container(const std::string& text) {
  Value env = Value::List();
  env.Add("NVIDIA_VISIBLE_DEVICES=" + text).Add("NVIDIA_IMEX_CHANNELS=" + text).Add(text);
  Value mounts = Value::List();
  mounts.Add(Value::Map()
                 .Set("destination", "/var/run/nvidia-container-devices/" + text)
                 .Set("source", "/dev/null"));
  return Value::Map()
      .Set("process", Value::Map().Set("env", std::move(env)))
      .Set("mounts", std::move(mounts))
      .Set("annotations", Value::Map().Set("cdi.k8s.io/x", text));
}

void Check(const Request& request, std::string_view text) {
  PARTITA_CHECK((request.kind == Kind::kDevices) == !request.devices.empty());
  PARTITA_CHECK(std::set(request.devices.begin(), request.devices.end()).size() ==
                request.devices.size());
  const std::string lower = partita::base::ToLower(text);
  for (const std::string& id : request.devices) {
    PARTITA_CHECK(!id.empty());
    static_cast<void>(partita::request::ParseDeviceId(id).ok());
    // "cdi/a/b/0" of a mount becomes a name; everything else is as it was written.
    if (request.source == partita::request::Source::kMounts) continue;
    PARTITA_CHECK(text.find(id) != std::string_view::npos);
  }
  PARTITA_CHECK(request.kind != Kind::kAll || lower.find("all") != std::string::npos);
  for (const std::string& channel : request.imex_channels)
    PARTITA_CHECK(partita::base::ParseUnsigned(channel).has_value());
  static_cast<void>(partita::request::ResolveMode("auto", request, false).ok());
}

}  // namespace

FUZZ_TARGET(visible_devices) {
  const std::string text(partita::fuzz::AsText(data, size));
  // Bytes that JSON cannot hold come back as others.
  const auto spec = partita::oci::Spec::Parse(partita::base::ToJsonLine(Container(text)));
  if (!spec.ok()) return 0;
  const std::string seen = spec->Env("NVIDIA_VISIBLE_DEVICES").value_or("");
  partita::config::ToolkitConfig config;
  for (const bool mounts : {false, true}) {
    config.accept_volume_mounts = mounts;
    for (const bool annotations : {false, true}) {
      const auto request = partita::request::ReadRequest(*spec, config, annotations);
      if (request.ok()) Check(*request, seen);
    }
  }
  return 0;
}
