#include "kube/api/api_error.h"

#include <gtest/gtest.h>

namespace caravan::kube {
namespace {

using namespace std::chrono_literals;

constexpr const char* kTaken =
    R"({"kind":"Status","code":409,"reason":"AlreadyExists","message":"pods \"w-0\" already exists"})";

TEST(ApiError, TellsATakenNameFromAConflictOfVersions) {
  const ApiError taken = error_of_answer("POST /api/v1/pods", {.status = 409}, kTaken);
  EXPECT_TRUE(taken.is_already_exists());
  EXPECT_FALSE(taken.is_conflict());

  const ApiError conflict = error_of_answer(
      "PUT /x", {.status = 409}, R"({"kind":"Status","code":409,"reason":"Conflict","message":"m"})");
  EXPECT_TRUE(conflict.is_conflict());
  EXPECT_FALSE(conflict.is_already_exists());
}

TEST(ApiError, SaysWhichCallFailedAndWhatTheServerSaid) {
  const ApiError error = error_of_answer("POST /api/v1/pods", {.status = 409}, kTaken);
  EXPECT_EQ(error.message, R"(POST /api/v1/pods: 409 AlreadyExists: pods "w-0" already exists)");
}

TEST(ApiError, QuotesTheFirstLineOfABodyThatIsNoStatus) {
  const ApiError error = error_of_answer("GET /", {.status = 502}, "<html>Bad gateway\n<p>a long page");
  EXPECT_EQ(error.message, "GET /: 502: <html>Bad gateway");
}

TEST(ApiError, TakesRetryAfterFromTheHeaderAndElseFromTheDetails) {
  const std::string body = R"({"kind":"Status","code":429,"details":{"retryAfterSeconds":7}})";
  EXPECT_EQ(error_of_answer("GET /", {.status = 429}, body).retry_after, 7s);
  EXPECT_EQ(error_of_answer("GET /", {.status = 429, .headers = {{"retry-after", "3"}}}, body).retry_after,
            3s);
  EXPECT_FALSE(error_of_answer("GET /", {.status = 429}, "").retry_after);
}

TEST(ApiError, KnowsAServerThatIsBehind) {
  const std::string body =
      R"({"kind":"Status","code":504,"reason":"Timeout","message":"Too large resource version: 9, current: 3"})";
  EXPECT_TRUE(error_of_answer("GET /", {.status = 504}, body).is_too_large_version());
  EXPECT_FALSE(error_of_answer("GET /", {.status = 504}, "").is_too_large_version());
}

}  // namespace
}  // namespace caravan::kube
