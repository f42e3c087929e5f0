// JSON and TOML as documents whose keys can be kept and put back.
#pragma once

#include "config/json_text.h"
#include "config/toml/edit.h"
#include "service/toolkit/kept_keys.h"

namespace partita::service::toolkit {

class JsonKeys final : public KeyedText {
 public:
  explicit JsonKeys(config::JsonText json) : json_(std::move(json)) {}

  [[nodiscard]] const config::JsonText& json() const { return json_; }

  [[nodiscard]] std::optional<std::string> Raw(const KeyPath& path) const override;
  [[nodiscard]] std::string Said(const KeyPath& path) const override;
  [[nodiscard]] bool IsEmptyTable(const KeyPath& path) const override;
  [[nodiscard]] bool HasOtherThan(const std::string& key) const override;
  [[nodiscard]] base::Result<void> Put(const KeyPath& path, const std::string& raw) override;
  [[nodiscard]] base::Result<void> Remove(const KeyPath& path) override;
  [[nodiscard]] base::Result<bool> RemoveItem(const KeyPath& path,
                                              const std::string& item) override;

 private:
  [[nodiscard]] const base::Value* Find(const KeyPath& path) const;

  config::JsonText json_;
};

class TomlKeys final : public KeyedText {
 public:
  explicit TomlKeys(config::TomlText toml) : toml_(std::move(toml)) {}

  [[nodiscard]] const config::TomlText& toml() const { return toml_; }

  [[nodiscard]] std::optional<std::string> Raw(const KeyPath& path) const override;
  [[nodiscard]] std::string Said(const KeyPath& path) const override;
  [[nodiscard]] bool IsEmptyTable(const KeyPath& path) const override;
  [[nodiscard]] bool HasOtherThan(const std::string& key) const override;
  [[nodiscard]] base::Result<void> Put(const KeyPath& path, const std::string& raw) override;
  [[nodiscard]] base::Result<void> Remove(const KeyPath& path) override;
  [[nodiscard]] base::Result<bool> RemoveItem(const KeyPath& path,
                                              const std::string& item) override;

 private:
  [[nodiscard]] const config::TomlStatement* KeyAt(const KeyPath& path) const;

  config::TomlText toml_;
};

}  // namespace partita::service::toolkit
