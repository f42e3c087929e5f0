#include "base/result.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "base/output_format.h"
#include "base/strong.h"

namespace partita::base {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return MakeError(ErrorCode::kInvalid, "{} is odd", number);
  return number / 2;
}

Result<int> Quarter(int number) {
  TRY(half, Half(number), "halve {}", number);
  TRY(quarter, Half(half), "halve {} again", half);
  return quarter;
}

Result<void> CheckQuarter(int number) {
  TRY_VOID(Half(number));
  return {};
}

TEST(Result, CarriesTheValueOrTheErrorWithItsFrames) {
  EXPECT_EQ(*Quarter(8), 2);
  const Result<int> failed = Quarter(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().ToString(), "halve 3 again: 3 is odd");
  EXPECT_EQ(failed.error().frames(), std::vector<std::string>{"halve 3 again"});
  EXPECT_TRUE(CheckQuarter(2).ok());
  EXPECT_EQ(CheckQuarter(1).error().code(), ErrorCode::kInvalid);
}

TEST(Error, ReadsFromOutsideIn) {
  const Error error = MakeError(ErrorCode::kBusy, "in use by another client")
                          .Within("gpu 0")
                          .Within("apply \"x\"")
                          .WithNative({NativeKind::kNvml, 19})
                          .At({"mig.yaml", 7, 9})
                          .WithHint("stop it");
  EXPECT_EQ(error.ToString(),
            "mig.yaml:7:9: apply \"x\": gpu 0: in use by another client (NVML 19)");
  EXPECT_EQ(error.hint(), "stop it");
}

TEST(ErrnoError, ChoosesTheCodeByTheNumber) {
  EXPECT_EQ(ErrnoError("open x", ENOENT).code(), ErrorCode::kNotFound);
  EXPECT_EQ(ErrnoError("open x", EACCES).code(), ErrorCode::kDenied);
  EXPECT_EQ(ErrnoError("open x", EBUSY).code(), ErrorCode::kBusy);
  EXPECT_EQ(ErrnoError("open x", ENOSPC).code(), ErrorCode::kIo);
  EXPECT_EQ(ErrnoError("open x", ENOSPC).ToString(), "open x: No space left on device (errno 28)");
}

TEST(ErrorCode, HasAName) {
  EXPECT_EQ(ToString(ErrorCode::kNotFound), "not-found");
  EXPECT_EQ(ToString(ErrorCode::kInternal), "internal");
}

TEST(ResultDeathTest, EndsTheProcessOnTheWrongAccess) {
  EXPECT_DEATH((void)*Half(1), "check failed");
  EXPECT_DEATH((void)Half(2).error(), "check failed");
}

TEST(Strong, PrintsAndComparesAsItsValue) {
  using Index = Strong<struct IndexTag, unsigned>;
  EXPECT_LT(Index(1), Index(2));
  EXPECT_EQ(fmt::format("{}", Index(7)), "7");
  EXPECT_EQ(std::hash<Index>()(Index(7)), std::hash<unsigned>()(7));
}

TEST(ParseOutputFormat, SuggestsTheNearest) {
  EXPECT_EQ(*ParseOutputFormat("json"), OutputFormat::kJson);
  EXPECT_EQ(*ParseOutputFormat("yaml"), OutputFormat::kYaml);
  EXPECT_EQ(*ParseOutputFormat("text"), OutputFormat::kText);
  const Result<OutputFormat> wrong = ParseOutputFormat("jsn");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().ToString(), "unknown output format \"jsn\": use text, json or yaml");
  EXPECT_EQ(wrong.error().hint(), "did you mean \"json\"?");
}

}  // namespace
}  // namespace partita::base
