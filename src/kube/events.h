// Kubernetes Events (events.k8s.io/v1): what `kubectl describe node` shows at its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "kube/backoff.h"
#include "kube/client.h"
#include "net/loop.h"

namespace partita::kube {

// The object that something happened to.
struct Regarding {
  std::string kind;          // "Node"
  std::string namespace_{};  // empty: none
  std::string name{};
  std::string uid{};  // a Node's is its name, as kubelet has it: `kubectl describe` looks for that
  std::string api_version = "v1";
};

enum class EventType : std::uint8_t { kNormal, kWarning };

// Loop's thread only. An event is sent when it first happens, once in ten minutes; how often it
// happened again is told at their end, in one request. An API server that does not answer is asked
// again, and after a while the oldest events go: what they say is in the log too.
class EventRecorder {
 public:
  static constexpr std::chrono::minutes kWindow{10};
  static constexpr std::size_t kMostWaiting = 64;  // requests
  static constexpr std::size_t kMostKnown = 256;   // events of the last ten minutes

  // `instance` is who of us it is: the node's name.
  EventRecorder(net::Loop& loop, Client& client, Random random, std::string instance);
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;
  ~EventRecorder() = default;

  // The same object, reason and key are the same event; an empty key is the note. `reason` is one
  // word in CamelCase, the note is cut at 1024 bytes (the API's bound).
  void Record(const Regarding& regarding,
              EventType type,
              const std::string& reason,
              const std::string& note,
              const std::string& key = "");
  // Told how each ended: sent, or refused and dropped.
  using Ended = std::function<void(const base::Result<void>& how)>;
  void OnEnd(Ended ended) { ended_ = std::move(ended); }
  [[nodiscard]] std::size_t waiting() const { return orders_.size(); }

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  struct Series {
    std::string folder, name;
    std::uint64_t count = 1;
    base::Clock::Steady first{};
    base::Clock::Wall last{};
  };
  struct Order {
    std::string path;
    bool creates = true;
    base::Value body;
  };

  void Send(Order order);
  void SendNext(const Retrying::Done& done);
  void CloseOld();

  net::Loop& loop_;
  Client& client_;
  std::string instance_;
  Ended ended_;
  std::map<Key, Series> known_;
  std::uint64_t made_ = 0;
  std::deque<Order> orders_;
  std::unique_ptr<net::Timer> window_;
  Retrying sending_;
};

// "2026-01-01T00:00:00.000000Z".
[[nodiscard]] std::string MicroTime(base::Clock::Wall time);

}  // namespace partita::kube
