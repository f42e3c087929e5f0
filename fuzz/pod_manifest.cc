// Any text as a manifest: pods with places that can be shown, or problems. What is read of devices
// is counted, never nothing.
#include <string>

#include "config/manifest/pod_manifest.h"
#include "fuzz/target.h"

FUZZ_TARGET(pod_manifest) {
  using namespace partita;
  const auto file = config::ManifestFile::Parse(std::string(fuzz::AsText(data, size)), "pod.yaml");
  if (!file.ok()) {
    PARTITA_CHECK(file.error().code() == base::ErrorCode::kInvalid);
    PARTITA_CHECK(file.error().ToString().starts_with("pod.yaml"));
    return 0;
  }
  PARTITA_CHECK(!file->pods().empty());
  for (const config::PodManifest& pod : file->pods()) {
    for (const config::ManifestFlaw& flaw : pod.flaws)
      PARTITA_CHECK(!file->Show(flaw.place, flaw.message, flaw.hint).empty());
    for (const config::ManifestContainer& container : pod.containers) {
      PARTITA_CHECK(!container.name.empty());
      for (const config::ResourceRequest& request : container.resources)
        PARTITA_CHECK(request.count > 0 && request.name.find('/') != std::string::npos);
    }
    for (const auto& term : pod.affinity) PARTITA_CHECK(term.place.line > 0);
  }
  return 0;
}
