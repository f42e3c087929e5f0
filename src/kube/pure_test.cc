// What is a function of its arguments alone: backoff, statuses, lines of a watch, base64.
#include <vector>

#include <gtest/gtest.h>

#include "kube/backoff.h"
#include "kube/base64.h"
#include "kube/client.h"
#include "kube/status.h"
#include "kube/watch_lines.h"
#include "net/testing/fake_loop.h"

namespace partita::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, DoublesUpToItsBoundWithHalfOfItLeftToChance) {
  EXPECT_EQ(BackoffDelay(1, 0), milliseconds(500));
  EXPECT_EQ(BackoffDelay(2, 0), seconds(1));
  EXPECT_EQ(BackoffDelay(2, 0.5), milliseconds(1500));
  EXPECT_EQ(BackoffDelay(5, 0), seconds(8));
  EXPECT_EQ(BackoffDelay(6, 0), seconds(15));
  EXPECT_EQ(BackoffDelay(1000000, 0), seconds(15));
  EXPECT_EQ(BackoffDelay(0, 0), milliseconds(500));
  for (int failures = 1; failures < 40; ++failures) {
    EXPECT_LE(BackoffDelay(failures, 0.999), seconds(30));
    EXPECT_GE(BackoffDelay(failures + 1, 0), BackoffDelay(failures, 0));
  }
}

TEST(Backoff, NeverComesBackBeforeTheServerSaid) {
  EXPECT_EQ(BackoffDelay(1, seconds(7), 0), seconds(7));
  EXPECT_EQ(BackoffDelay(1, seconds(7), 0.5), milliseconds(7500));
  EXPECT_EQ(BackoffDelay(6, seconds(1), 0), seconds(15));
  EXPECT_EQ(BackoffDelay(1, seconds(100000), 0), seconds(300));
  EXPECT_EQ(BackoffDelay(1, std::nullopt, 0), milliseconds(500));
}

TEST(SystemRandom, IsBetweenNothingAndOne) {
  const Random random = SystemRandom();
  for (int i = 0; i < 1000; ++i) {
    const double chance = random();
    ASSERT_GE(chance, 0);
    ASSERT_LT(chance, 1);
  }
}

TEST(Retrying, TriesUntilItWorksAndAgainForWhatChangedMeanwhile) {
  net::testing::FakeLoop loop;
  std::vector<Retrying::Done> attempts;
  Retrying retrying(
      loop, "again", [] { return 0.0; },
      [&](Retrying::Done done) { attempts.push_back(std::move(done)); });
  EXPECT_TRUE(retrying.at_rest());
  retrying.Start();
  attempts[0](base::Error(base::ErrorCode::kUnavailable, "no"));
  EXPECT_FALSE(retrying.at_rest());
  loop.Advance(milliseconds(499));
  EXPECT_EQ(attempts.size(), 1U);
  loop.Advance(milliseconds(1));
  ASSERT_EQ(attempts.size(), 2U);
  // Twice: one more attempt is enough.
  retrying.Start();
  retrying.Start();
  attempts[1]({});
  ASSERT_EQ(attempts.size(), 3U);
  attempts[2]({});
  EXPECT_TRUE(retrying.at_rest());
  // Stopped, nobody hears of the attempt under way.
  retrying.Start();
  retrying.Stop();
  attempts[3](base::Error(base::ErrorCode::kUnavailable, "late"));
  EXPECT_TRUE(retrying.at_rest());
  EXPECT_TRUE(loop.ArmedTimers().empty());
}

TEST(Status, SaysWhatTheServerSaidAndWhatItMeans) {
  const auto error =
      ErrorOfAnswer(403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no way"})");
  EXPECT_EQ(error.code(), base::ErrorCode::kDenied);
  EXPECT_EQ(error.ToString(), "the API server answers 403: no way");
  EXPECT_EQ(error.hint(), "the account needs this right: see the chart's roles");
  EXPECT_EQ(ErrorOfAnswer(502, "<html>x</html>").ToString(), "the API server answers 502");
  EXPECT_EQ(ErrorOfAnswer(429, "slow\x1b[2J down\n").ToString(),
            "the API server answers 429: slow?[2J down");
  EXPECT_LT(ErrorOfAnswer(500, std::string(100000, 'x')).ToString().size(), 1100U);
  struct Row {
    int status;
    base::ErrorCode code;
  };
  for (const Row row : {Row{400, base::ErrorCode::kInvalid},
                        {422, base::ErrorCode::kInvalid},
                        {401, base::ErrorCode::kUnavailable},
                        {404, base::ErrorCode::kNotFound},
                        {409, base::ErrorCode::kConflict},
                        {410, base::ErrorCode::kConflict},
                        {429, base::ErrorCode::kUnavailable},
                        {503, base::ErrorCode::kUnavailable},
                        {504, base::ErrorCode::kTimeout},
                        {302, base::ErrorCode::kInternal}})
    EXPECT_EQ(ErrorOfAnswer(row.status, "").code(), row.code) << row.status;
}

TEST(Status, AnAnswerIsAnObject) {
  EXPECT_TRUE(ObjectOf({.status = 200, .body = "{}"}).ok());
  EXPECT_EQ(ObjectOf({.status = 200, .body = "[]"}).error().code(), base::ErrorCode::kInternal);
  EXPECT_EQ(ObjectOf({.status = 200, .body = "{"}).error().code(), base::ErrorCode::kInternal);
}

TEST(Status, ReadsRetryAfter) {
  EXPECT_EQ(RetryAfter({{"retry-after", "7"}}), seconds(7));
  for (const std::string text : {"", "-1", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT", "99999999"})
    EXPECT_EQ(RetryAfter({{"retry-after", text}}), std::nullopt) << text;
  EXPECT_EQ(RetryAfter({}), std::nullopt);
}

TEST(Status, NamesTheResourceOfAPath) {
  EXPECT_EQ(ResourceOf("/api/v1/nodes"), "nodes");
  EXPECT_EQ(ResourceOf("/api/v1/nodes/a?x=y"), "nodes");
  EXPECT_EQ(ResourceOf("/api/v1/nodes/a/status"), "nodes/status");
  EXPECT_EQ(ResourceOf("/api/v1/namespaces"), "namespaces");
  EXPECT_EQ(ResourceOf("/api/v1/namespaces/a"), "namespaces");
  EXPECT_EQ(ResourceOf("/api/v1/namespaces/a/configmaps/b"), "configmaps");
  EXPECT_EQ(ResourceOf("/apis/events.k8s.io/v1/namespaces/a/events"), "events");
  EXPECT_EQ(ResourceOf("/version"), "/version");
}

TEST(WatchLines, ReadsEvents) {
  const auto event = ReadWatchEvent(
      R"({"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"7"}}})");
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->kind, WatchEvent::Kind::kModified);
  EXPECT_EQ(MetadataOf(event->object, "resourceVersion"), "7");
  EXPECT_EQ(NameOf(event->object), (ObjectName{"", "a"}));
  for (const std::string line :
       {"", "x", "[]", "{}", R"({"type":"SEEN","object":{}})", R"({"type":"ADDED"})",
        R"({"type":"ADDED","object":[]})", R"({"type":1,"object":{}})"})
    EXPECT_FALSE(ReadWatchEvent(line).ok()) << line;
}

TEST(WatchLines, JoinsPiecesAndBoundsLines) {
  WatchLines lines;
  std::vector<std::string> all;
  const auto take = [&](std::string_view line) {
    all.emplace_back(line);
    return true;
  };
  for (const std::string piece : {"on", "e\ntwo\r\n\nth", "", "ree\n"})
    ASSERT_TRUE(lines.Add(piece, take).ok());
  EXPECT_EQ(all, (std::vector<std::string>{"one", "two\r", "three"}));
  const std::string large(std::size_t{1} << 20, 'x');
  base::Result<void> added;
  for (int i = 0; i < 9 && added.ok(); ++i) added = lines.Add(large, take);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().ToString(), "a line of a watch has more than 8 MiB");
}

TEST(Base64, DecodesWhatIsWellFormed) {
  EXPECT_EQ(DecodeBase64(""), "");
  EXPECT_EQ(DecodeBase64("Zg=="), "f");
  EXPECT_EQ(DecodeBase64("Zm8="), "fo");
  EXPECT_EQ(DecodeBase64("Zm9v\nYmFy\r\n"), "foobar");
  EXPECT_EQ(DecodeBase64("/+8="), "\xff\xef");
  for (const std::string text : {"Z", "Zg", "Zg=", "Z===", "Zg==Zg==", "=Zg=", "Zm9v!", "Zm 9"})
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
}

TEST(Selectors, AreEncoded) {
  EXPECT_EQ(FieldSelector("metadata.name", "a b&c"), "fieldSelector=metadata.name%3Da%20b%26c");
}

}  // namespace
}  // namespace partita::kube
