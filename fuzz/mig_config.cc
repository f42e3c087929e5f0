// Any bytes as a file of the partition editor, its configurations or its hooks: values within their
// limits, or problems with their places. Whatever profiles it names are looked for on a GPU.
#include <string>

#include "config/hooks_file.h"
#include "config/mig_config.h"
#include "fuzz/target.h"
#include "model/mig/wanted.h"

namespace {

using partita::model::GpuInstanceProfile;
using partita::model::MigGeometry;
using partita::model::ProfileId;

// Two profiles that names and slices can mean; the parser must not depend on which.
MigGeometry SmallGeometry() {
  GpuInstanceProfile small;
  small.id = ProfileId(19);
  small.name = "1g.5gb";
  small.slice_count = 1;
  small.instance_count = 7;
  GpuInstanceProfile large;
  large.id = ProfileId(9);
  large.name = "3g.20gb";
  large.slice_count = 3;
  large.instance_count = 2;
  return MigGeometry::Of({small, large});
}

void CheckConfigs(const partita::config::MigConfigFile& file) {
  static const MigGeometry geometry = SmallGeometry();
  for (const partita::config::MigConfig& config : file.configs()) {
    PARTITA_CHECK(!config.specs.empty() && file.Select(config.name).ok());
    for (const partita::config::MigSpec& spec : config.specs) {
      PARTITA_CHECK(spec.mig_enabled || spec.mig_devices.empty());
      static_cast<void>(spec.Selects({}));
      for (const partita::config::MigDeviceCount& device : spec.mig_devices) {
        const auto found = partita::model::ResolveProfile(geometry, device.profile);
        PARTITA_CHECK(found.ok() || found.error().code() == partita::base::ErrorCode::kInvalid);
        PARTITA_CHECK(!found.ok() || found->profile < geometry.profiles.size());
      }
    }
  }
}

}  // namespace

FUZZ_TARGET(mig_config) {
  using partita::config::HooksFile;
  using partita::config::MigConfigFile;
  const std::string text(partita::fuzz::AsText(data, size));
  const auto file = MigConfigFile::Parse(text, "mig.yaml");
  if (file.ok())
    CheckConfigs(*file);
  else
    PARTITA_CHECK(file.error().message().starts_with("mig.yaml:"));
  const auto hooks = HooksFile::Parse(text, "hooks.yaml");
  PARTITA_CHECK(hooks.ok() || hooks.error().message().starts_with("hooks.yaml:"));
  return 0;
}
