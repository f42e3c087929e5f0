// What the tool does. Every function prints its answer and returns the exit status, which is the
// NVML return code wherever a call failed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/smi/devices.h"
#include "sim/smi/nvml.h"

namespace partita::sim::smi {

using Ids = std::optional<std::string>;  // the value of -i

int ListGpus(const Nvml& nvml);                   // -L
int ShowTable(const Nvml& nvml, const Ids& ids);  // no arguments

// --query-gpu=FIELDS and --query-compute-apps=FIELDS with --format=csv[,noheader][,nounits].
int QueryGpus(const Nvml& nvml,
              const Ids& ids,
              const std::string& fields,
              const std::string& format);
int QueryComputeApps(const Nvml& nvml,
                     const Ids& ids,
                     const std::string& fields,
                     const std::string& format);

int SetMigMode(const Nvml& nvml, const Ids& ids, const std::string& mode);          // -mig
int SetComputeMode(const Nvml& nvml, const Ids& ids, const std::string& mode);      // -c
int SetPersistenceMode(const Nvml& nvml, const Ids& ids, const std::string& mode);  // -pm

// What has no call in NVML and goes to the node's state: shuts NVML down first.
int ResetGpus(const Nvml& nvml, const Ids& ids);            // -r
int ListComputePolicies(const Nvml& nvml, const Ids& ids);  // -l
int SetTimeslice(const Nvml& nvml,
                 const Ids& ids,
                 const std::string& timeslice);  // --set-timeslice

int RunMig(const Nvml& nvml, std::span<const std::string> words);            // mig …
int RunComputePolicy(const Nvml& nvml, std::span<const std::string> words);  // compute-policy …

}  // namespace partita::sim::smi
