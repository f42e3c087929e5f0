// Layouts, requests and plans as one line each, so that tests read like the cases they check.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/inventory.h"
#include "model/mig/planner.h"

namespace partita::model::testing {

// "3g.20gb@0 2g.10gb@4* 1g.5gb@6[]": GPU instances at their starts. Each has one compute instance
// of its full width, unless others stand in brackets: "3g.20gb@0[1*,2]". A star: in use; an
// exclamation mark after the place: pinned. Ids count from 1, compute instances from 0.
[[nodiscard]] std::vector<LiveInstance> Live(const MigGeometry& geometry, std::string_view text);

// "2 x 1g.5gb, 3g.20gb, 1c.3g.20gb": devices in any spelling that ProfileRequest reads. "" for
// none.
[[nodiscard]] DeviceCounts Wanted(const MigGeometry& geometry, std::string_view text);

// "=2g.10gb@4 =3g.20gb@0[-1 +2] -1g.5gb@6 +1g.5gb@1": what stays, goes and comes, by start. New
// instances show compute instances that do not fill them: "+3g.20gb@4[1,1]".
[[nodiscard]] std::string ToText(const MigGeometry& geometry, const LayoutPlan& plan);
// The refusal's words for a NoLayout.
[[nodiscard]] std::string ToText(const MigGeometry& geometry,
                                 const std::variant<LayoutPlan, NoLayout>& answer);

// A product's GPU with MIG on and these instances; a process in each compute instance in use, with
// pid 100 plus its position.
[[nodiscard]] Gpu GpuWith(std::string_view product, std::string_view instances);

}  // namespace partita::model::testing
