// An API server in memory, for unit tests of what uses kube::Client. It has memory and rules: held
// to the same contract as the real one (testing/contract.h). What it does not have: lists merged by
// key (they are one value each) but for conditions, defaults, validation, rights.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/client.h"

namespace partita::kube::testing {

class FakeClient final : public Client {
 public:
  explicit FakeClient(net::Loop& loop) : loop_(loop) {}
  FakeClient(const FakeClient&) = delete;
  FakeClient& operator=(const FakeClient&) = delete;
  ~FakeClient() override;

  void Get(std::string path, Answer answer) override;
  void Create(std::string path, base::Value object, Answer answer) override;
  void Update(std::string path, base::Value object, Answer answer) override;
  void Delete(std::string path, Answer answer) override;
  void Apply(std::string path,
             std::string field_manager,
             bool force,
             base::Value object,
             Answer answer) override;
  void Patch(std::string path, PatchKind kind, base::Value patch, Answer answer) override;
  std::unique_ptr<Watching> Watch(std::string list_path,
                                  std::string selector,
                                  WatchEvents events) override;
  [[nodiscard]] const RequestCounts& counts() const override { return counts_; }

  // For tests.

  // What is at the path now; null where nothing is.
  [[nodiscard]] const base::Value* At(std::string_view path) const;
  // As somebody else would: puts an object there, whatever was.
  void Put(const std::string& path, base::Value object);
  void Remove(const std::string& path);
  // Every request from now on ends like this; nothing: they work again. Watches tell it once, and
  // list anew when it is over.
  void Fail(std::optional<base::Error> error);
  // The same of the watches of one collection alone.
  void FailWatch(const std::string& list_path, std::optional<base::Error> error);
  // When a failure is over, watches go on where they were from now on: they tell so, and list
  // nothing.
  void ResumeWatches() { resumes_ = true; }
  // Verb and path of each request, in order.
  [[nodiscard]] const std::vector<std::string>& asked() const { return asked_; }

  // What a request changes is told before it is answered from now on, as the server may do.
  void TellFirst() { tells_first_ = true; }

  // Called with each request, as it is counted, before its answer is on its way. May be empty.
  void OnRequest(std::function<void(const std::string& counted)> task) {
    on_request_ = std::move(task);
  }

 private:
  struct Subscription;
  class FakeWatching;
  using Fields = std::set<std::string>;  // "/metadata/labels/a", slashes in keys as "~1"
  struct Object {
    base::Value value;
    std::map<std::string, Fields> owners;  // by field manager
  };

  void Answered(const std::string& verb,
                const std::string& path,
                Answer answer,
                std::function<base::Result<base::Value>()> work);
  base::Result<base::Value> Store(const std::string& path, Object object);
  base::Result<base::Value> Applied(const std::string& path,
                                    const std::string& manager,
                                    bool force,
                                    const base::Value& object);
  void Tell(const std::string& path);
  [[nodiscard]] const base::Error* FailureOf(const Subscription& subscription) const;
  // False: it fails, or ended with what it was told.
  bool Serves(Subscription& subscription) const;
  void List(Subscription& subscription);
  void TellFailures();

  net::Loop& loop_;
  std::map<std::string, Object, std::less<>> objects_;
  std::vector<std::shared_ptr<Subscription>> subscriptions_;
  std::uint64_t version_ = 1;
  std::optional<base::Error> failing_;
  std::map<std::string, base::Error> failing_watches_;  // by their collection
  bool tells_first_ = false, resumes_ = false;
  RequestCounts counts_;
  std::function<void(const std::string&)> on_request_;
  std::vector<std::string> asked_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace partita::kube::testing
