// The lists and maps of the agent's file: rules of what is offered, policies of XIDs, selectors.
#pragma once

#include <string_view>
#include <vector>

#include "base/value.h"
#include "config/document.h"
#include "config/offer_rule.h"
#include "config/problems.h"
#include "config/xid_rule.h"

namespace partita::config {

[[nodiscard]] std::vector<OfferRule> ReadOfferRules(const Node& node,
                                                    std::string_view file_name,
                                                    Problems& problems);
// By code.
[[nodiscard]] std::vector<XidRule> ReadXidRules(const Node& node,
                                                std::string_view file_name,
                                                Problems& problems);
// {index: [2, 3], product: H200}: each key a value or a list of them.
[[nodiscard]] model::GpuSelect ReadGpuSelect(const Node& node, Problems& problems);

// As in the file. "event", or {policy: event, clearAfter: 600s}.
[[nodiscard]] base::Value OfferRuleDocument(const OfferRule& rule);
[[nodiscard]] base::Value XidRuleDocument(const XidRule& rule);

}  // namespace partita::config
