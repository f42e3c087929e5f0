#include "kube/events.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/json.h"
#include "kube/testing/fake_client.h"
#include "kube/watch_lines.h"
#include "net/testing/fake_loop.h"

namespace partita::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kFolder = "/apis/events.k8s.io/v1/namespaces/default/events";

class EventsTest : public ::testing::Test {
 protected:
  // The one event of that folder.
  const base::Value& Only() {
    const base::Value* found = nullptr;
    for (const std::string& path : names_)
      if (client_.At(path) != nullptr) found = client_.At(path);
    PARTITA_CHECK(found != nullptr);
    return *found;
  }
  std::set<std::string> Notes() {
    std::set<std::string> notes;
    for (const std::string& path : names_)
      if (client_.At(path) != nullptr) notes.insert(client_.At(path)->Find("note")->AsString());
    return notes;
  }
  void Watch() {
    watching_ =
        client_.Watch(std::string(kFolder), "", {.seen = [this](const base::Value& object) {
                        names_.push_back(std::string(kFolder) + "/" + MetadataOf(object, "name"));
                      }});
    loop_.RunUntilIdle();
  }

  net::testing::FakeLoop loop_;
  testing::FakeClient client_{loop_};
  EventRecorder events_{loop_, client_, [] { return 0.0; }, "node-1"};
  Regarding node_{.kind = "Node", .name = "node-1"};
  std::vector<std::string> names_;
  std::unique_ptr<Watching> watching_;
};

TEST_F(EventsTest, OneIsSentAsTheApiHasIt) {
  Watch();
  events_.Record(node_, EventType::kWarning, "ConfigRejected", "a.yaml:3:1: no such key");
  loop_.RunUntilIdle();
  base::Value event = Only();
  EXPECT_EQ(ToJsonLine(*event.Find("regarding")),
            R"({"apiVersion":"v1","kind":"Node","name":"node-1","uid":"node-1"})");
  EXPECT_EQ(event.Find("eventTime")->AsString(), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(event.Find("note")->AsString(), "a.yaml:3:1: no such key");
  EXPECT_EQ(event.Find("type")->AsString(), "Warning");
  EXPECT_EQ(event.Find("reason")->AsString(), "ConfigRejected");
  EXPECT_EQ(event.Find("reportingController")->AsString(), "partita");
  EXPECT_EQ(event.Find("reportingInstance")->AsString(), "node-1");
}

TEST_F(EventsTest, ALongNoteIsCutBetweenCharacters) {
  std::string note, whole;
  for (int i = 0; i < 600; ++i) note += "ö";
  for (int i = 0; i < 510; ++i) whole += "ö";
  Watch();
  events_.Record(node_, EventType::kNormal, "Reason", note);
  loop_.RunUntilIdle();
  EXPECT_EQ(Only().Find("note")->AsString(), whole + "…");
}

// A node's name may have 253 characters, which leaves nothing for an event's own; and of who
// reports the API takes 128.
TEST_F(EventsTest, ALongNameIsCutWhereTheApiTakesLess) {
  const std::string name = std::string(60, 'a') + "." + std::string(60, 'b') + "." +
                           std::string(60, 'c') + "." + std::string(43, 'd') + "-" +
                           std::string(26, 'e');
  ASSERT_EQ(name.size(), 253U);
  node_.name = name;
  EventRecorder events(
      loop_, client_, [] { return 0.0; }, name);
  Watch();
  events.Record(node_, EventType::kNormal, "Reason", "note");
  loop_.RunUntilIdle();
  const base::Value event = Only();
  EXPECT_EQ(event.Find("reportingInstance")->AsString(), name.substr(0, 128));
  EXPECT_EQ(event.Find("regarding")->Find("name")->AsString(), name);
  const std::string called = MetadataOf(event, "name");
  EXPECT_LE(called.size(), 253U);
  EXPECT_TRUE(called.starts_with(name.substr(0, 200))) << called;
  EXPECT_EQ(called.find("-."), std::string::npos) << called;
}

TEST_F(EventsTest, RepetitionsAreCountedAndToldOnceAtTheEnd) {
  Watch();
  for (int i = 0; i < 5; ++i) {
    events_.Record(node_, EventType::kNormal, "Applied", "small", "key");
    loop_.Advance(minutes(1));
  }
  EXPECT_EQ(client_.counts().at("create events"), 1U);
  EXPECT_FALSE(client_.counts().contains("patch events"));
  loop_.Advance(minutes(5));
  EXPECT_EQ(client_.counts().at("patch events"), 1U);
  const base::Value event = Only();
  EXPECT_EQ(ToJsonLine(*event.Find("series")),
            R"({"count":5,"lastObservedTime":"2026-01-01T00:04:00.000000Z"})");
  EXPECT_TRUE(loop_.ArmedTimers().empty());
  // Afterwards it is another event.
  events_.Record(node_, EventType::kNormal, "Applied", "small", "key");
  loop_.RunUntilIdle();
  EXPECT_EQ(client_.counts().at("create events"), 2U);
}

TEST_F(EventsTest, AnOutageCostsTimeAndRefusalsCostTheEvent) {
  client_.Fail(base::Error(base::ErrorCode::kUnavailable, "gone"));
  events_.Record(node_, EventType::kNormal, "A", "a");
  events_.Record(node_, EventType::kNormal, "B", "b");
  loop_.Advance(seconds(60));
  EXPECT_EQ(events_.waiting(), 2U);
  EXPECT_LT(client_.counts().at("create events"), 10U);
  client_.Fail(std::nullopt);
  loop_.Advance(seconds(30));
  EXPECT_EQ(events_.waiting(), 0U);
  std::vector<std::string> ends;
  events_.OnEnd([&](const base::Result<void>& how) {
    ends.push_back(how.ok() ? "sent" : how.error().ToString());
  });
  client_.Fail(base::Error(base::ErrorCode::kDenied, "no"));
  events_.Record(node_, EventType::kNormal, "C", "c");
  loop_.RunUntilIdle();
  EXPECT_EQ(events_.waiting(), 0U);
  client_.Fail(std::nullopt);
  events_.Record(node_, EventType::kNormal, "D", "d");
  loop_.RunUntilIdle();
  EXPECT_EQ(ends, (std::vector<std::string>{"no", "sent"}));
}

TEST_F(EventsTest, NothingGrowsWithoutBound) {
  client_.Fail(base::Error(base::ErrorCode::kUnavailable, "gone"));
  for (int i = 0; i < 1000; ++i) events_.Record(node_, EventType::kNormal, "A", std::to_string(i));
  loop_.RunUntilIdle();
  EXPECT_EQ(events_.waiting(), EventRecorder::kMostWaiting);
  Watch();
  client_.Fail(std::nullopt);
  loop_.Advance(minutes(11));
  EXPECT_EQ(events_.waiting(), 0U);
  // The one that is being sent, and the newest.
  const std::set<std::string> notes = Notes();
  EXPECT_EQ(notes.size(), EventRecorder::kMostWaiting);
  EXPECT_TRUE(notes.contains("0"));
  EXPECT_FALSE(notes.contains("1"));
  EXPECT_TRUE(notes.contains(std::to_string(EventRecorder::kMostKnown - 1)));
  events_.Record(node_, EventType::kNormal, "Long", std::string(3000, 'x') + "ä");
  loop_.RunUntilIdle();
  EXPECT_LE(Only().Find("note")->AsString().size(), 1024U);
}

}  // namespace
}  // namespace partita::kube
