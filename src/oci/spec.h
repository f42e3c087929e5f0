// The config.json of a bundle, edited: what no edit names keeps its bytes, known to us or not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "config/json_text.h"

namespace partita::oci {

// An item of a list. One that stays is written as it was read, one of ours (without `raw`) as its
// value.
struct Element {
  std::string raw;
  base::Value value;
  bool asked = false;  // it was there, and then asked for
};

class Spec {
 public:
  // kInvalid, with the member's name, where something that is edited or asked for here is of
  // another kind than the OCI specification says. null is as absent.
  [[nodiscard]] static base::Result<Spec> Parse(std::string text);

  // The text that was parsed, where nothing was edited.
  [[nodiscard]] std::string Text() const;
  [[nodiscard]] bool edited() const { return !edited_.empty(); }

  // Entries without '=' are kept; nobody finds them.
  [[nodiscard]] const std::vector<std::string>& env() const { return env_; }
  // The last of this name: docker puts its own behind the image's.
  [[nodiscard]] std::optional<std::string> Env(std::string_view name) const;
  // In the place of every entry of this name, since programs differ in which of two they see; else
  // behind the others.
  void SetEnv(std::string_view name, std::string_view value);

  [[nodiscard]] std::string root_path() const;  // "": there is none
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> annotations() const;  // by key

  [[nodiscard]] const std::vector<Element>& mounts() const { return List(kMounts); }
  void SetMounts(std::vector<Element> mounts);

  // In the place of one with the same "path", at the end.
  void PutDevice(const base::Value& device);
  // A rule that allows this much; nothing where `access` is empty. One that is there is not
  // repeated, unless a later one denies something.
  void AllowDevice(char type, std::int64_t major, std::int64_t minor, std::string_view access);
  void SetNetDevice(const std::string& host_name, const base::Value& device);
  void SetIntelRdt(const base::Value& rdt);
  // Not 0, and none that is there.
  void AddGid(std::uint32_t gid);

  // Of "prestart", "createContainer"…; no other name may be given to the next four.
  [[nodiscard]] static bool IsHookList(std::string_view list);
  [[nodiscard]] const std::vector<Element>& hooks(std::string_view list) const;
  // An equal one that an earlier edit left there is this one: the same edits twice are as once.
  void AddHook(std::string_view list, const base::Value& hook);
  // In the place of those from this one on.
  void ReplaceHooks(std::string_view list, std::size_t from, std::span<const base::Value> hooks);
  // Whether there was one that `is_meant` is true of.
  bool RemoveHooks(std::string_view list, const std::function<bool(const base::Value&)>& is_meant);

  [[nodiscard]] bool has_user_namespace() const;
  [[nodiscard]] std::uint32_t uid() const;  // of the process; 0 where it is not said
  [[nodiscard]] std::uint32_t gid() const;
  // CAP_SYS_ADMIN in the bounding set, or in the one list that specifications before 1.0.0-rc5 had.
  [[nodiscard]] bool privileged() const;

 private:
  static constexpr std::string_view kMounts = "mounts";

  explicit Spec(config::JsonText document) : document_(std::move(document)) {}

  [[nodiscard]] base::Result<void> ReadLists();
  [[nodiscard]] base::Result<void> ReadEnv();
  [[nodiscard]] const base::Value* Find(std::string_view path) const;
  [[nodiscard]] const std::vector<Element>& List(std::string_view path) const;
  std::vector<Element>& Edit(std::string_view path);
  [[nodiscard]] std::uint32_t Id(std::string_view path) const;

  config::JsonText document_;
  std::vector<std::string> env_;
  std::map<std::string, std::vector<Element>, std::less<>> lists_;  // by path: "linux.devices"
  std::map<std::string, base::Value, std::less<>> net_devices_;     // new ones
  std::optional<base::Value> rdt_;                                  // a new one
  std::set<std::string, std::less<>> edited_;                       // paths
};

}  // namespace partita::oci
