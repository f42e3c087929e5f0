#pragma once

#include "base/value.h"
#include "model/node_report.h"

namespace partita::cli {

// The report as a document of schema partita.dev/status/v1 (docs/status-schema.md,
// apis/status-v1.schema.json). What the driver did not say is absent; lists are always there.
[[nodiscard]] base::Value StatusDocument(const model::NodeReport& report);

// A MIG profile, as every document of ours shows it.
[[nodiscard]] base::Value ProfileDocument(const model::GpuInstanceProfile& profile);

// Why something is not known: "message" and, where there is one, "hint".
[[nodiscard]] base::Value ReasonValue(const base::Error& error);

// "pod" and "container" of a process, as every document of ours shows them.
void SetContainer(base::Value& process, const model::Container& container);

}  // namespace partita::cli
