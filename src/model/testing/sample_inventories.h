// Nodes for tests of renderers: values as drivers report them, fixed by hand.
#pragma once

#include "model/node_report.h"

namespace partita::model::testing {

[[nodiscard]] NodeReport H200Idle();        // the captured H200, nothing running
[[nodiscard]] NodeReport DgxA100Mixed();    // eight A100, five of them sliced in different ways
[[nodiscard]] NodeReport DgxA100Full();     // eight A100, seven slices each, all held
[[nodiscard]] NodeReport MixedProducts();   // T4, V100, A30 with four slices, a 12-slice board
[[nodiscard]] NodeReport FaultyNode();      // a lost, a hung and a missing GPU beside a healthy one
[[nodiscard]] NodeReport VfioNode();        // one GPU for containers, two for virtual machines
[[nodiscard]] NodeReport NoDriver();        // nothing answers, and why
[[nodiscard]] NodeReport KubernetesNode();  // processes of pods, of a container and of nobody
[[nodiscard]] NodeReport HostileNames();    // texts that would disturb a terminal

}  // namespace partita::model::testing
