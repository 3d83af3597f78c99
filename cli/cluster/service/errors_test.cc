#include "cli/cluster/service/errors.h"

#include <gmock/gmock.h>
#include <google/rpc/status.pb.h>

namespace caravan::cli {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const Server kServer{.address = "localhost:8443"};
const Asked kGet{.verb = "get", .name_space = "team", .name = "tiny"};

template <typename... Details>
grpc::Status status(StatusCode code, const std::string& message, const Details&... details) {
  google::rpc::Status whole;
  (whole.add_details()->PackFrom(details), ...);
  return {code, message, whole.SerializeAsString()};
}

google::rpc::ErrorInfo info(const std::string& reason) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  return info;
}

google::rpc::RetryInfo retry(int seconds) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(seconds);
  return info;
}

TEST(ServiceErrors, OfAJobsFieldsAreTheLoadersSentences) {
  google::rpc::BadRequest bad;
  for (const auto& [field, words] : {std::pair("job.spec.training.steps", "expected at least 1, got 0"),
                                     std::pair("page_size", "expected a number from 0")}) {
    auto& violation = *bad.add_field_violations();
    violation.set_field(field);
    violation.set_description(words);
  }
  const ClusterError error =
      explain(status(StatusCode::INVALID_ARGUMENT, "both; at once", info("INVALID_JOB"), bad), kGet, kServer);
  EXPECT_EQ(error.message,
            "spec.training.steps: expected at least 1, got 0\npage_size: expected a number from 0");
  EXPECT_EQ(error.code, ExitCode::kBadInput);
}

TEST(ServiceErrors, SpeakAsTheApiServersDo) {
  EXPECT_EQ(explain(status(StatusCode::NOT_FOUND, "there is none"), kGet, kServer).message,
            "namespace team has no job tiny; `caravan list -n team` shows those that there are");
  EXPECT_TRUE(explain(status(StatusCode::NOT_FOUND, "there is none"), kGet, kServer).is_not_found());
  EXPECT_THAT(explain(status(StatusCode::ALREADY_EXISTS, "it is there"), kGet, kServer).message,
              HasSubstr("namespace team has a job tiny already"));
  const ClusterError refused = explain(
      status(StatusCode::PERMISSION_DENIED, "eve may not get llamatrainingjobs in the namespace team"), kGet,
      kServer);
  EXPECT_EQ(refused.message,
            "eve may not get llamatrainingjobs in the namespace team; ask whoever runs the cluster for the "
            "right to get llamatrainingjobs.training.caravan.dev in namespace team");
  EXPECT_TRUE(refused.is_refusal());
  EXPECT_EQ(refused.code, ExitCode::kJobFailed);
  const auto denied = status(StatusCode::PERMISSION_DENIED, "tiny is forbidden: eve may not create pods");
  EXPECT_EQ(explain(denied, kGet, kServer).message,
            "get llamatrainingjobs.training.caravan.dev: tiny is forbidden: eve may not create pods");
}

TEST(ServiceErrors, SayHowToGetAToken) {
  const ClusterError error = explain(
      status(StatusCode::UNAUTHENTICATED, "the token is not valid here", info("BAD_TOKEN")), kGet, kServer);
  EXPECT_THAT(error.message, AllOf(HasSubstr(kServer.address), HasSubstr("the token is not valid here"),
                                   HasSubstr("kubectl create token"), HasSubstr("--token-file")));
  EXPECT_EQ(error.code, ExitCode::kClusterUnreachable);
  EXPECT_TRUE(error.is_refusal());
  EXPECT_FALSE(error.is_outage());
}

TEST(ServiceErrors, TellAServiceThatIsAwayFromOneThatCannotAnswerNow) {
  const ClusterError away = explain(status(StatusCode::UNAVAILABLE, "Connection refused"), kGet, kServer);
  EXPECT_THAT(away.message,
              AllOf(HasSubstr("is not reached (UNAVAILABLE: Connection refused)"), HasSubstr("--server")));
  const ClusterError hurt =
      explain(status(StatusCode::UNAVAILABLE, "no leader", info("OPERATOR_AWAY")), kGet, kServer);
  EXPECT_THAT(hurt.message, HasSubstr("cannot answer now: UNAVAILABLE: no leader"));
  for (const ClusterError& error : {away, hurt}) {
    EXPECT_TRUE(error.is_outage());
    EXPECT_EQ(error.code, ExitCode::kClusterUnreachable);
  }
}

TEST(ServiceErrors, TellAServiceThatIsLateFromOneThatIsNotReached) {
  const grpc::Status late = status(StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded");
  const grpc::Status own = status(StatusCode::DEADLINE_EXCEEDED, "the API server is slow", info("TIMEOUT"));
  const Server away{.address = kServer.address, .is_connected = false};
  EXPECT_THAT(
      explain(late, kGet, away).message,
      AllOf(HasSubstr("is not reached (DEADLINE_EXCEEDED: Deadline Exceeded)"), HasSubstr("--server")));
  EXPECT_THAT(explain(late, kGet, kServer).message,
              AllOf(HasSubstr("has not answered in time (DEADLINE_EXCEEDED: Deadline Exceeded)"),
                    Not(HasSubstr("is up"))));
  EXPECT_THAT(explain(own, kGet, away).message,
              HasSubstr("has not answered in time (DEADLINE_EXCEEDED: the API server is slow)"))
      << "its own words came from somewhere";
  EXPECT_TRUE(explain(late, kGet, kServer).is_outage());
  EXPECT_TRUE(is_late(late, kServer));
  EXPECT_TRUE(is_late(own, away));
  EXPECT_FALSE(is_late(late, away));
}

TEST(ServiceErrors, OfALateCreationAskForNoSecondJob) {
  const Asked creation{.verb = "create", .name_space = "team", .name = "tiny", .may_be_created = true};
  for (const auto code : {StatusCode::DEADLINE_EXCEEDED, StatusCode::UNAVAILABLE,
                          StatusCode::RESOURCE_EXHAUSTED, StatusCode::ALREADY_EXISTS}) {
    EXPECT_THAT(explain(status(code, "no"), creation, kServer).message,
                AllOf(HasSubstr("may have been created: `caravan list -n team` shows it then"),
                      Not(HasSubstr("ask again"))));
  }
}

TEST(ServiceErrors, NameTheCodeWhereNoSentenceStandsForIt) {
  EXPECT_EQ(explain(status(StatusCode::FAILED_PRECONDITION, "the job has ended"), kGet, kServer).message,
            "FAILED_PRECONDITION: the job has ended");
  EXPECT_THAT(explain(status(StatusCode::INTERNAL, "broken"), kGet, kServer).message,
              HasSubstr("INTERNAL: broken"));
}

TEST(ServiceErrors, OfAServerOfSomethingElseSaySo) {
  for (const char* words : {"unknown\nservice\x1b[2J", "Received http2 header with status: 404"}) {
    const ClusterError error = explain(status(StatusCode::UNIMPLEMENTED, words), kGet, kServer);
    EXPECT_EQ(error.message.find_first_of("\n\x1b"), std::string::npos) << "one line, fit for a terminal";
    EXPECT_THAT(error.message, HasSubstr("localhost:8443 is no job service"));
    EXPECT_EQ(error.code, ExitCode::kClusterUnreachable);
  }
}

TEST(ServiceErrors, OfAMethodThatIsNotThereAreRightOfAnOlderServiceToo) {
  for (const char* words : {"", "unknown method EstimateJob for service caravan.v1alpha1.JobService"}) {
    const ClusterError error = explain({StatusCode::UNIMPLEMENTED, words}, kGet, kServer);
    EXPECT_THAT(error.message, AllOf(HasSubstr("older than this caravan"), HasSubstr("have it upgraded"),
                                     HasSubstr("--server"), Not(HasSubstr("()"))));
    EXPECT_EQ(error.code, ExitCode::kJobFailed);
  }
}

TEST(ServiceErrors, AreTriedAgainAsTheServiceSays) {
  EXPECT_EQ(wait_before_retry(status(StatusCode::RESOURCE_EXHAUSTED, "busy", info("BUSY"), retry(3)), 1),
            milliseconds(3'000));
  EXPECT_EQ(wait_before_retry(status(StatusCode::UNAVAILABLE, "not yet", info("NOT_READY"), retry(1)), 9),
            milliseconds(1'000));
  EXPECT_FALSE(
      wait_before_retry(status(StatusCode::RESOURCE_EXHAUSTED, "exceeded quota", info("QUOTA_EXCEEDED")), 1));
  EXPECT_FALSE(wait_before_retry(status(StatusCode::INVALID_ARGUMENT, "no"), 1));
}

TEST(ServiceErrors, OfAServiceThatIsNotReachedAreTriedAgainAFewTimesUnlessItIsNotTrusted) {
  const grpc::Status away = status(StatusCode::UNAVAILABLE, "Connection refused");
  EXPECT_TRUE(wait_before_retry(away, 1));
  EXPECT_TRUE(wait_before_retry(away, 4));
  EXPECT_FALSE(wait_before_retry(away, 5));
  EXPECT_FALSE(wait_before_retry(status(StatusCode::UNAVAILABLE, "x: CERTIFICATE_VERIFY_FAILED: y"), 1));
}

}  // namespace
}  // namespace caravan::cli
