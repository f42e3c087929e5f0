// What was offered until a moment ago. kubelet may admit a pod by the list before: its Allocate
// would find nobody who knows the device, and the pod would fail.
#pragma once

#include <map>
#include <string>

#include "service/device_plugin/offered.h"

namespace partita::service::device_plugin {

using Lately = std::map<std::string, std::map<std::string, OfferedDevice>>;  // by resource and id

// Takes in what `next` offers no more; whether there was any. Not what MPS has to do with: a daemon
// is about to end, or to have the GPU for itself. Nothing at all stays where nothing is offered:
// then devices would not reach their containers.
bool KeepForAMoment(Lately& lately, const Offered& before, const Offered& next);

}  // namespace partita::service::device_plugin
