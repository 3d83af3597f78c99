// Requests of which the API server hears nothing.
#include "service/methods/write_methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/testing/manual_clock.h"

namespace caravan::service {
namespace {

TEST(WriteMethods, AChoiceThatTheSchemaDoesNotKnowIsRefusedByItsField) {
  ::caravan::testing::ManualClock clock;
  TokenCredentials own("of the service");
  kube::Observer observer;
  CallerClients clients({}, own, clock, observer, {});
  WriteMethods methods(clients, clock);
  v1alpha1::CreateJobRequest request;
  request.set_parent("namespaces/team");
  v1alpha1::FailurePolicy& policy = *request.mutable_job()->mutable_spec()->mutable_failure_policy();
  policy.add_rules_list()->set_action(static_cast<v1alpha1::FailureRule::Action>(77));
  const auto created = methods.create_job({.caller = {.user = "ada", .token = "secret"}}, request);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Code::kInvalidArgument);
  EXPECT_THAT(created.error().message,
              ::testing::HasSubstr("spec.failurePolicy.rules[0].action: expected one of Restart, "
                                   "RestartIgnoringLimit, Fail, got \"77\""));
}

}  // namespace
}  // namespace caravan::service
