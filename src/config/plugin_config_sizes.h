// Sizes of shares (`shares` of an entry of sharing.mps): partita's extension of the reference's
// document.
#pragma once

#include <string>
#include <vector>

#include "config/plugin_config_reader.h"

namespace partita::config {

// More clients no GPU serves; of a MIG device only a node knows.
inline constexpr std::uint32_t kMostMpsClients = 48;

// Into `resource`, whose name and rename are known. `names`: where each of its sizes has its name.
void ReadSizes(const Node& key,
               const Node& node,
               PluginReading& reading,
               SharedResource& resource,
               std::vector<const Node*>& names);

// A name that shares are offered under, and where it is written.
struct SharesCalled {
  std::string name;
  const SharedResource* of = nullptr;
  const ShareSize* size = nullptr;  // none: equal shares, or what they are shares of
  const Node* place = nullptr;
};
// A size is called as nothing else is, but for the same size of other devices of that kind: whoever
// asks for a name gets the same limits everywhere.
void CheckSizeNames(const std::vector<SharesCalled>& all, Problems& problems);

}  // namespace partita::config
