#include "service/rpc/known_fields.h"

#include <gtest/gtest.h>

#include <string>

#include "caravan/v1alpha1/job_service.pb.h"
#include "common/version.h"

namespace caravan::service {
namespace {

void add_unknown(google::protobuf::Message& message) {
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(99, 1);
}

std::string refusal_of(const v1alpha1::CreateJobRequest& request) {
  const auto known = check_fields_are_known(request);
  return known ? "none" : known.error().message;
}

TEST(KnownFields, AreAllOfAJobThatThisVersionWrites) {
  v1alpha1::CreateJobRequest request;
  request.mutable_job()->mutable_spec()->mutable_training()->set_steps(5);
  (*request.mutable_job()->mutable_metadata()->mutable_labels())["team"] = "nlp";
  EXPECT_EQ(refusal_of(request), "none");
}

TEST(KnownFields, OfAStatusDoNotMatter) {
  v1alpha1::CreateJobRequest request;
  add_unknown(*request.mutable_job()->mutable_status());
  add_unknown(*request.mutable_job()->mutable_status()->mutable_progress());
  EXPECT_EQ(refusal_of(request), "none");
}

TEST(KnownFields, WhatIsNoneIsNamedByItsPlaceAndNumber) {
  const std::string lacks =
      " has field 99, which this service (" + std::string(version()) + ") does not know; have it upgraded";
  v1alpha1::CreateJobRequest within;
  add_unknown(*within.mutable_job()->mutable_spec()->mutable_training());
  EXPECT_EQ(refusal_of(within), "job.spec.training:" + lacks);
  EXPECT_EQ(check_fields_are_known(within).error().code, Code::kInvalidArgument);
  v1alpha1::CreateJobRequest in_list;
  v1alpha1::FailurePolicy& policy = *in_list.mutable_job()->mutable_spec()->mutable_failure_policy();
  policy.add_rules_list();
  add_unknown(*policy.add_rules_list());
  EXPECT_EQ(refusal_of(in_list), "job.spec.failurePolicy.rules[1]:" + lacks);
  v1alpha1::CreateJobRequest at_the_top;
  add_unknown(at_the_top);
  EXPECT_EQ(refusal_of(at_the_top), "request:" + lacks);
}

}  // namespace
}  // namespace caravan::service
