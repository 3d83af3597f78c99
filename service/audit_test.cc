// What stands in the log of who changed what.
#include "service/audit.h"

#include <gmock/gmock.h>

#include "common/testing/manual_clock.h"

namespace caravan::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AuditTest : public ::testing::Test {
 protected:
  void refuse() {
    audit_.refused_at_the_gate({.host = "10.0.0.1"}, {"DeleteJob", "namespaces/s/jobs/train"},
                               {.code = Code::kUnauthenticated, .reason = faults::kBadToken});
  }

  caravan::testing::ManualClock clock_;
  std::vector<std::string> lines_;
  Audit audit_{clock_, [this](const std::string& line) { lines_.push_back(line); }};
};

TEST_F(AuditTest, SaysWhoDidWhatAndHowItEnded) {
  const Call call{.caller = {.user = "ada", .token = "secret"}, .host = "10.0.0.1"};
  const AuditedCall audited{
      .method = "CreateJob", .resource = "namespaces/s/jobs/train", .request_id = "5f0c-1", .dry_run = true};
  audit_.method_ended(call, audited, nullptr);
  const Fault denied{.code = Code::kPermissionDenied, .reason = faults::kForbidden, .message = "secret no"};
  audit_.method_ended(call, audited, &denied);
  EXPECT_THAT(
      lines_,
      ::testing::ElementsAre(
          R"({"audit":"CreateJob","time":"2023-11-14T22:13:20.000000Z","user":"ada","by":"token",)"
          R"("host":"10.0.0.1","resource":"namespaces/s/jobs/train","outcome":"OK","requestId":"5f0c-1",)"
          R"("dryRun":true})",
          R"({"audit":"CreateJob","time":"2023-11-14T22:13:20.000000Z","user":"ada","by":"token",)"
          R"("host":"10.0.0.1","resource":"namespaces/s/jobs/train","outcome":"PERMISSION_DENIED",)"
          R"("requestId":"5f0c-1","dryRun":true,"reason":"FORBIDDEN"})"));
}

TEST_F(AuditTest, HoldsNoTokenAndNothingLongOrForgedOfTheCallers) {
  const Call call{.caller = {.user = "ada", .token = "secret"}};
  audit_.method_ended(call, {.method = "DeleteJob", .resource = "a\"}\n{\"audit\":" + std::string(9999, 'x')},
                      nullptr);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0].find('\n'), std::string::npos);
  EXPECT_LT(lines_[0].size(), 600u);
  EXPECT_THAT(lines_[0], Not(HasSubstr("secret")));
  EXPECT_THAT(lines_[0], HasSubstr(R"(a\"})"));
}

TEST_F(AuditTest, SaysOfWhomNobodyKnowsWhereHeComesFrom) {
  refuse();
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_[0], HasSubstr(R"("user":"","by":"nothing","host":"10.0.0.1")"));
  EXPECT_THAT(lines_[0], HasSubstr(R"("outcome":"UNAUTHENTICATED","reason":"BAD_TOKEN")"));
}

TEST_F(AuditTest, CountsRefusalsThatWouldPushOthersLinesOut) {
  for (int i = 0; i < 10'000; ++i) refuse();
  EXPECT_EQ(lines_.size(), Audit::kRefusalsAtOnce);
  audit_.method_ended({.caller = {.user = "ada"}}, {"DeleteJob", "namespaces/s/jobs/train"}, nullptr);
  EXPECT_EQ(lines_.size(), Audit::kRefusalsAtOnce + 1) << "what a method did is always told";
  clock_.advance(std::chrono::seconds(1));
  refuse();
  EXPECT_THAT(lines_.back(), HasSubstr(R"("refusalsLeftOut":9900})"));
  refuse();
  EXPECT_THAT(lines_.back(), Not(HasSubstr("refusalsLeftOut")));
}

}  // namespace
}  // namespace caravan::service
