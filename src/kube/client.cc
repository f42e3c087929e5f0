#include "kube/client.h"

#include <utility>

#include <fmt/format.h>

#include "kube/requests.h"
#include "kube/status.h"
#include "kube/watcher.h"

namespace partita::kube {
namespace {

constexpr std::string_view kJson = "application/json";

class ApiWatching final : public Watching {
 public:
  explicit ApiWatching(std::shared_ptr<Watcher> watcher) : watcher_(std::move(watcher)) {
    watcher_->Start();
  }
  ApiWatching(const ApiWatching&) = delete;
  ApiWatching& operator=(const ApiWatching&) = delete;
  ~ApiWatching() override { watcher_->Stop(); }

 private:
  std::shared_ptr<Watcher> watcher_;
};

class ApiClient final : public Client {
 public:
  ApiClient(net::Loop& loop, std::string name, Access access, Random random, std::string user_agent)
      : requests_(
            loop, std::move(name), std::move(access), std::move(random), std::move(user_agent)) {}

  void Get(std::string path, Answer answer) override {
    Ask({.verb = "get", .method = "GET", .path = std::move(path)}, std::move(answer));
  }
  void Create(std::string path, base::Value object, Answer answer) override {
    Ask({.verb = "create",
         .method = "POST",
         .path = std::move(path),
         .content_type = std::string(kJson),
         .body = ToJsonLine(object)},
        std::move(answer));
  }
  void Update(std::string path, base::Value object, Answer answer) override {
    Ask({.verb = "update",
         .method = "PUT",
         .path = std::move(path),
         .content_type = std::string(kJson),
         .body = ToJsonLine(object)},
        std::move(answer));
  }
  void Delete(std::string path, Answer answer) override {
    Ask({.verb = "delete", .method = "DELETE", .path = std::move(path)}, std::move(answer));
  }
  void Apply(std::string path,
             std::string field_manager,
             bool force,
             base::Value object,
             Answer answer) override {
    path += "?fieldManager=" + PercentEncoded(field_manager) + (force ? "&force=true" : "");
    // YAML, of which JSON is a part; applied twice it is as applied once.
    Ask({.verb = "patch",
         .method = "PATCH",
         .path = std::move(path),
         .content_type = "application/apply-patch+yaml",
         .body = ToJsonLine(object),
         .repeatable = true},
        std::move(answer));
  }
  void Patch(std::string path, PatchKind kind, base::Value patch, Answer answer) override {
    const bool merges = kind == PatchKind::kMerge;
    Ask({.verb = "patch",
         .method = "PATCH",
         .path = std::move(path),
         .content_type =
             merges ? "application/merge-patch+json" : "application/strategic-merge-patch+json",
         .body = ToJsonLine(patch),
         .repeatable = true},
        std::move(answer));
  }
  std::unique_ptr<Watching> Watch(std::string list_path,
                                  std::string selector,
                                  WatchEvents events) override {
    return std::make_unique<ApiWatching>(std::make_shared<Watcher>(
        requests_, std::move(list_path), std::move(selector), std::move(events)));
  }
  [[nodiscard]] const RequestCounts& counts() const override { return requests_.counts(); }

 private:
  void Ask(Requests::Order order, Answer answer) {
    std::string frame =
        fmt::format("{} {}", order.verb, order.path.substr(0, order.path.find('?')));
    requests_.Ask(std::move(order), [this, frame = std::move(frame), answer = std::move(answer)](
                                        base::Result<net::HttpClientAnswer> said) {
      if (!said.ok()) return answer(requests_.Explained(std::move(said).error()));
      auto object = ObjectOf(*said);
      if (!object.ok()) return answer(requests_.Explained(std::move(object).error()).Within(frame));
      answer(std::move(object));
    });
  }

  Requests requests_;
};

}  // namespace

ObjectName NameOf(const base::Value& object) {
  return {MetadataOf(object, "namespace"), MetadataOf(object, "name")};
}

std::string PercentEncoded(std::string_view text) {
  constexpr std::string_view kMarks = "-._~";
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       kMarks.find(c) != std::string_view::npos;
    if (plain)
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

std::string FieldSelector(std::string_view field, std::string_view value) {
  return "fieldSelector=" + PercentEncoded(fmt::format("{}={}", field, value));
}

std::unique_ptr<Client> NewClient(
    net::Loop& loop, std::string name, Access access, Random random, std::string user_agent) {
  return std::make_unique<ApiClient>(loop, std::move(name), std::move(access), std::move(random),
                                     std::move(user_agent));
}

}  // namespace partita::kube
