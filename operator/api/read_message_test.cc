#include "operator/api/read_message.h"

#include <gmock/gmock.h>

#include "caravan/v1alpha1/plan.pb.h"
#include "common/json.h"
#include "operator/api/job_object.h"
#include "operator/controller/planning_policy.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using ::testing::HasSubstr;

template <typename M>
Result<M> read(std::string_view text, Unknown unknown = Unknown::kRefused) {
  M message;
  const kube::Json document = kube::parse_json(text, "the test").value();
  if (Status done = read_message(document, message, unknown); !done) return tl::unexpected(done.error());
  return message;
}

std::string refusal(std::string_view status) {
  const auto answer = read<v1alpha1::JobStatus>(status);
  return answer ? "no refusal" : answer.error().message;
}

TEST(ReadMessage, APlanReadsBackAsItWasWritten) {
  const Job job = read_job(job_object(R"(, "worker": {"nodeSelector": {"b": "2", "a": "1"}})"));
  const std::string written = to_json(judge_plan(job, {}).plan.value());
  EXPECT_EQ(to_json(read<v1alpha1::JobPlan>(written).value()), written);
  EXPECT_THAT(written, HasSubstr(R"("nodeSelector":{"a":"1","b":"2"})"));
}

TEST(ReadMessage, AStatusReadsAsProtobufReadsIt) {
  const std::string written =
      R"({"state": "Running", "attempt": 2, "restarts": 0, "progress": {"step": 7, "loss": "2.5"},)"
      R"( "conditions": [{"type": "Planned", "status": "True"}, {"type": "Running", "message": "\"ok\" é"}]})";
  EXPECT_EQ(to_json(read<v1alpha1::JobStatus>(written).value()),
            to_json(from_json<v1alpha1::JobStatus>(written).value()));
}

TEST(ReadMessage, NullIsAbsent) {
  EXPECT_FALSE(read<v1alpha1::JobStatus>(R"({"restarts": null})")->has_restarts());
}

TEST(ReadMessage, AValueOfTheWrongTypeIsRefusedWithItsPlace) {
  EXPECT_EQ(refusal(R"({"attempt": "two"})"), "attempt: expected a whole number of 32 bits");
  EXPECT_EQ(refusal(R"({"attempt": 3000000000})"), "attempt: expected a whole number of 32 bits");
  EXPECT_EQ(refusal(R"({"attempt": 1.5})"), "attempt: expected a whole number of 32 bits");
  EXPECT_EQ(refusal(R"({"progress": {"loss": 2.5}})"), "progress: loss: expected a string");
  EXPECT_EQ(refusal(R"({"progress": []})"), "progress: expected an object");
  EXPECT_EQ(refusal(R"({"conditions": {}})"), "conditions: expected a list");
  EXPECT_EQ(refusal(R"([])"), "expected an object");
}

TEST(ReadMessage, WhatThisVersionDoesNotKnowIsRefusedOrDropped) {
  EXPECT_EQ(refusal(R"({"progress": {"later": 1}})"), "progress: later: unknown field");
  const auto dropped = read<v1alpha1::JobStatus>(R"({"later": {"a": [1]}, "attempt": 1})", Unknown::kDropped);
  EXPECT_EQ(dropped->attempt(), 1);
  const std::string kind = R"({"spec": {"resources": {"device": {"kind": "QPU"}}}})";
  EXPECT_FALSE(read<v1alpha1::JobPlan>(kind));
  EXPECT_FALSE(read<v1alpha1::JobPlan>(kind, Unknown::kFieldsDropped)) << "without it, it would be a GPU";
  EXPECT_TRUE(read<v1alpha1::JobPlan>(kind, Unknown::kDropped));
}

}  // namespace
}  // namespace caravan::controller::testing
