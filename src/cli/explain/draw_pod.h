// An answer as a picture and its words.
#pragma once

#include "cli/draw/drawing.h"
#include "config/manifest/pod_manifest.h"
#include "service/explain/explain.h"

namespace partita::cli {

[[nodiscard]] Lines DrawPod(const config::ManifestFile& file,
                            const config::PodManifest& pod,
                            const service::explain::PodAnswer& answer,
                            const Look& look);

}  // namespace partita::cli
