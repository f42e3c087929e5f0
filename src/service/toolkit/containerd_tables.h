// The tables of containerd's CRI plugin, by version of the file: read, and given our runtime.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/toml/edit.h"
#include "service/toolkit/engine.h"
#include "service/toolkit/kept_keys.h"

namespace partita::service::toolkit {

// The CRI plugin's table by version of the file.
inline constexpr std::string_view kOldCri = "cri", kCri = "io.containerd.grpc.v1.cri",
                                  kNewCri = "io.containerd.cri.v1.runtime";
[[nodiscard]] config::TomlPath CriOf(int version);
[[nodiscard]] config::TomlPath Below(const config::TomlPath& path,
                                     std::initializer_list<std::string> more);
[[nodiscard]] std::string TomlQuotedText(std::string_view text);
[[nodiscard]] bool IsEmpty(const config::TomlText& toml);
[[nodiscard]] base::Error WrongFile(std::string message, const std::string& file, std::string hint);

struct ContainerdSource {
  config::TomlText toml;
  int version = 2;
  bool add_version = false;  // the file lacks the line that it needs
};
[[nodiscard]] base::Result<ContainerdSource> ReadContainerdSource(std::string text,
                                                                  const std::string& file);

// A runtime's settings, one a row: {"options", "BinaryName"}, "\"/usr/bin/x\"".
struct Setting {
  config::TomlPath path;
  std::string value;
};
void CollectSettings(const config::Node& node,
                     const config::TomlPath& path,
                     std::vector<Setting>& settings);
[[nodiscard]] base::Result<void> SetIfOther(config::TomlText& toml,
                                            const config::TomlPath& path,
                                            const std::string& value);

// The runtime whose settings ours begins with, with the keys of `ours` as they were before us:
// cgroup drivers must agree, or pods are killed and started over and over. Null where there is
// none.
[[nodiscard]] base::Result<config::Node> ModelRuntime(const config::TomlText& toml,
                                                      int version,
                                                      const std::vector<KeptKey>& ours);

// The runtime, the default and CDI, in whichever file has the plugin's table. What is set already
// and not asked for stays.
[[nodiscard]] base::Result<void> AddRuntime(config::TomlText& toml,
                                            int version,
                                            const ConfigureOrder& order,
                                            const config::Node& model);
// What that may change, and what of it differs afterwards.
[[nodiscard]] std::vector<config::TomlPath> OurEntries(const config::TomlText& before,
                                                       int version,
                                                       const std::string& name);
[[nodiscard]] std::vector<KeptKey> RuntimeKeys(const config::TomlText& before,
                                               const config::TomlText& after,
                                               int version,
                                               const std::string& name);
// kInternal where anything else differs.
[[nodiscard]] base::Result<void> CheckOnlyOurs(const config::TomlText& before,
                                               const config::TomlText& after,
                                               const std::vector<config::TomlPath>& ours,
                                               const std::string& file);

}  // namespace partita::service::toolkit
