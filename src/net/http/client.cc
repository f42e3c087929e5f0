#include "net/http/client.h"

#include <algorithm>
#include <deque>
#include <list>
#include <utility>

#include <fmt/format.h>

#include "net/http/exchange.h"
#include "net/http/pool.h"

namespace partita::net {
namespace {

std::string Seconds(Duration time) {
  return fmt::format("{} s", std::chrono::duration<double>(time).count());
}

}  // namespace

// All that outlives the client: answers on their way.
class HttpClient::Calls : public std::enable_shared_from_this<HttpClient::Calls> {
 public:
  class Question;
  class Flow;

  Calls(Loop& loop, std::string name) : loop_(loop), name_(std::move(name)), pool_(loop, name_) {}

  void Ask(HttpClientRequest request, Duration deadline, std::size_t most, Answer answer);
  // Its time has come, or its turn: as many as may be are under way.
  void StartWaiting();
  void End(const Question& question, base::Result<HttpClientAnswer> result);
  void Abandon();

  Loop& loop() { return loop_; }
  const std::string& name() const { return name_; }
  ConnectionPool& pool() { return pool_; }

 private:
  Loop& loop_;
  std::string name_;
  ConnectionPool pool_;
  bool abandoned_ = false;
  std::list<std::shared_ptr<Question>> questions_;  // in the order of asking
  std::size_t under_way_ = 0;
};

// Somebody waits for a whole answer.
class HttpClient::Calls::Question final : public Exchange::Waiter {
 public:
  Question(Calls& calls, HttpClientRequest request, std::size_t most, Answer answer)
      : calls_(calls),
        answer_(std::move(answer)),
        deadline_(calls.loop().NewTimer(calls.name() + "-deadline")),
        exchange_(std::make_shared<Exchange>(calls.pool(), std::move(request), most, *this)) {}
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question() override { exchange_->Abandon(); }

  void Await(Duration deadline) {
    deadline_->After(deadline, [this, deadline] {
      exchange_->Fail(
          base::MakeError(base::ErrorCode::kTimeout, "no answer within {}", Seconds(deadline)));
    });
  }
  void Start() {
    started_ = true;
    exchange_->Start();
  }
  [[nodiscard]] bool started() const { return started_; }
  Answer TakeAnswer() { return std::move(answer_); }

  void Head(const HttpClientAnswer&) override {}
  void Body(AnswerReader&) override {}
  void Done(AnswerReader& reader) override {
    HttpClientAnswer whole = reader.answer();
    whole.body = reader.TakeBody();
    calls_.End(*this, std::move(whole));
  }
  void Failed(base::Error error) override { calls_.End(*this, std::move(error)); }

 private:
  Calls& calls_;
  Answer answer_;
  std::unique_ptr<Timer> deadline_;
  std::shared_ptr<Exchange> exchange_;
  bool started_ = false;
};

void HttpClient::Calls::Ask(HttpClientRequest request,
                            Duration deadline,
                            std::size_t most,
                            Answer answer) {
  questions_.push_back(
      std::make_shared<Question>(*this, std::move(request), most, std::move(answer)));
  questions_.back()->Await(deadline);
  StartWaiting();
}

void HttpClient::Calls::StartWaiting() {
  // Posted: what begins may end at once, and nobody is told from within.
  loop_.Post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->abandoned_ || self->under_way_ >= kMostAtOnce) return;
    const auto waiting = std::find_if(self->questions_.begin(), self->questions_.end(),
                                      [](const auto& one) { return !one->started(); });
    if (waiting == self->questions_.end()) return;
    const std::shared_ptr<Question> question = *waiting;
    ++self->under_way_;
    question->Start();
  });
}

void HttpClient::Calls::End(const Question& question, base::Result<HttpClientAnswer> result) {
  const auto found = std::find_if(questions_.begin(), questions_.end(),
                                  [&](const auto& one) { return one.get() == &question; });
  if (found == questions_.end()) return;
  const std::shared_ptr<Question> ended = *found;
  questions_.erase(found);
  if (ended->started()) --under_way_;
  // `ended` lives until the post: the exchange stands in the middle of it.
  loop_.Post([self = shared_from_this(), ended, result = std::move(result)]() mutable {
    if (!self->abandoned_) ended->TakeAnswer()(std::move(result));
  });
  StartWaiting();
}

void HttpClient::Calls::Abandon() {
  abandoned_ = true;
  questions_.clear();
  pool_.CloseIdle();
}

// A body without an end. Kept by the handle, and by itself while it tells something.
class HttpClient::Calls::Flow final : public Exchange::Waiter,
                                      public std::enable_shared_from_this<Flow> {
 public:
  Flow(std::shared_ptr<Calls> calls,
       HttpClientRequest request,
       std::size_t most,
       Duration idle,
       StreamEvents events)
      : calls_(std::move(calls)),
        idle_(idle),
        events_(std::move(events)),
        silence_(calls_->loop().NewTimer(calls_->name() + "-stream")),
        exchange_(std::make_shared<Exchange>(calls_->pool(), std::move(request), most, *this)) {}
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  ~Flow() override { exchange_->Abandon(); }

  void Begin(Duration to_begin) {
    Await(to_begin);
    calls_->loop().Post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && !self->abandoned_) self->exchange_->Start();
    });
  }
  void Abandon() {
    abandoned_ = true;
    silence_->Cancel();
    exchange_->Abandon();
  }

  void Head(const HttpClientAnswer& head) override {
    flows_ = head.status >= 200 && head.status < 300;
    if (!flows_) return;
    const auto self = shared_from_this();
    Await(idle_);
    events_.begun(head);
  }
  void Body(AnswerReader& reader) override {
    if (!flows_) return;
    const auto self = shared_from_this();
    Await(idle_);
    const std::string bytes = reader.TakeBody();
    events_.bytes(bytes);
  }
  void Done(AnswerReader& reader) override {
    const auto self = shared_from_this();
    silence_->Cancel();
    if (!flows_) {
      HttpClientAnswer whole = reader.answer();
      whole.body = reader.TakeBody();
      events_.begun(whole);
    }
    if (!abandoned_) events_.ended({});
  }
  void Failed(base::Error error) override {
    const auto self = shared_from_this();
    silence_->Cancel();
    if (!abandoned_) events_.ended(std::move(error));
  }

 private:
  void Await(Duration time) {
    silence_->After(time, [this, time] {
      const auto self = shared_from_this();
      exchange_->Fail(
          base::MakeError(base::ErrorCode::kTimeout, "nothing came within {}", Seconds(time)));
    });
  }

  std::shared_ptr<Calls> calls_;
  Duration idle_;
  StreamEvents events_;
  std::unique_ptr<Timer> silence_;
  std::shared_ptr<Exchange> exchange_;
  bool flows_ = false;
  bool abandoned_ = false;
};

HttpClient::HttpClient(Loop& loop, std::string name)
    : calls_(std::make_shared<Calls>(loop, std::move(name))) {}
HttpClient::~HttpClient() { calls_->Abandon(); }

void HttpClient::SetTarget(HttpTarget target) { calls_->pool().SetTarget(std::move(target)); }

void HttpClient::Ask(HttpClientRequest request, Duration deadline, Answer answer) {
  calls_->Ask(std::move(request), deadline, most_answer, std::move(answer));
}

std::unique_ptr<HttpClient::Stream> HttpClient::Open(HttpClientRequest request,
                                                     Duration to_begin,
                                                     Duration idle,
                                                     StreamEvents events) {
  class Handle final : public Stream {
   public:
    explicit Handle(std::shared_ptr<Calls::Flow> flow) : flow_(std::move(flow)) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() override { flow_->Abandon(); }

   private:
    std::shared_ptr<Calls::Flow> flow_;
  };
  auto flow = std::make_shared<Calls::Flow>(calls_, std::move(request), most_answer, idle,
                                            std::move(events));
  flow->Begin(to_begin);
  return std::make_unique<Handle>(std::move(flow));
}

}  // namespace partita::net
