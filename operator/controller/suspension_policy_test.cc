#include "operator/controller/suspension_policy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operator/api/conditions.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

// "stops; True ByUser; attempt 3": what the policy says of a job, and what its status is then.
std::string suspension(bool is_wanted, const std::optional<QueueVerdict>& queue, v1alpha1::JobStatus status) {
  const Verdict verdict =
      judge_suspension(job(is_wanted ? R"(, "suspend": true)" : "").spec, queue, 0, status);
  Conditions after(status, 1, kStart);
  for (const ConditionChange& change : verdict.conditions) after.write(change);
  const v1alpha1::Condition* condition = find_condition(status, conditions::kSuspended);
  return fmt::format("{}; {}; attempt {}{}", verdict.course == Verdict::Course::kStops ? "stops" : "goes on",
                     condition == nullptr ? "" : condition->status() + " " + condition->reason(),
                     status.attempt(), status.start_time().empty() ? "" : ", its time runs");
}

v1alpha1::JobStatus third_attempt(const char* suspended_by = nullptr) {
  v1alpha1::JobStatus status;
  status.set_attempt(3);
  status.set_start_time(to_text(kStart));
  if (suspended_by != nullptr)
    Conditions(status, 1, kStart).set(conditions::kSuspended, true, suspended_by, "");
  return status;
}

TEST(SuspensionPolicy, FollowsWhatTheUserWants) {
  const QueueVerdict none;
  EXPECT_EQ(suspension(false, none, third_attempt()), "goes on; ; attempt 3, its time runs");
  EXPECT_EQ(suspension(true, none, third_attempt()), "stops; True ByUser; attempt 3");
  EXPECT_EQ(suspension(true, none, third_attempt(reasons::kByUser)),
            "stops; True ByUser; attempt 3, its time runs")
      << "what began anew with the suspension stays";
  EXPECT_EQ(suspension(false, none, third_attempt(reasons::kByUser)),
            "goes on; False Resumed; attempt 4, its time runs");
}

TEST(SuspensionPolicy, WhatTheQueueHasTakenBackItMustGiveAgain) {
  const auto by = [](Verdict::Course course) {
    QueueVerdict queue;
    queue.course = course;
    queue.message = "told";
    return queue;
  };
  EXPECT_EQ(suspension(false, by(Verdict::Course::kStops), third_attempt()),
            "stops; True ByQueue; attempt 3");
  EXPECT_EQ(suspension(false, by(Verdict::Course::kWaits), third_attempt()),
            "goes on; ; attempt 3, its time runs");
  for (const auto& queue : {std::optional(by(Verdict::Course::kWaits)), std::optional<QueueVerdict>()})
    EXPECT_EQ(suspension(false, queue, third_attempt(reasons::kByQueue)),
              "stops; True ByQueue; attempt 3, its time runs");
  EXPECT_EQ(suspension(false, by(Verdict::Course::kGoesOn), third_attempt(reasons::kByQueue)),
            "goes on; False Resumed; attempt 4, its time runs");
}

TEST(SuspensionPolicy, AJobThatGoesOnIsToldWhoLetsIt) {
  const auto told = [](const char* suspended_by, bool is_admitted) {
    QueueVerdict queue;
    queue.gang.set_admitted(is_admitted);
    v1alpha1::JobStatus status = third_attempt(suspended_by);
    return judge_suspension(job().spec, queue, 0, status).conditions.at(0).message;
  };
  EXPECT_EQ(told(reasons::kByQueue, true), "the queue has admitted the job");
  EXPECT_EQ(told(reasons::kByQueue, false), "the job asks for no queue any more") << "another gang provider";
  EXPECT_EQ(told(reasons::kByUser, false), "spec.suspend is false");
}

TEST(SuspensionPolicy, AJobThatIsResumedWhileItsQueueKeepsItOutIsToldWhatItWaitsFor) {
  QueueVerdict queue;
  queue.course = Verdict::Course::kStops;
  const auto told = [&](const char* reason) {
    queue.reason = reason;
    queue.message = "of the queue";
    v1alpha1::JobStatus status = third_attempt(reasons::kByUser);
    const Verdict verdict = judge_suspension(job().spec, queue, 0, status);
    EXPECT_EQ(verdict.conditions.size(), 1U);
    EXPECT_EQ(verdict.conditions.at(0).reason, reasons::kByUser);
    return verdict.conditions.at(0).message;
  };
  EXPECT_EQ(told(conditions::kSuspended), "resumed; it queues anew when its pods are gone");
  EXPECT_EQ(told(reasons::kKueueMissing), "resumed; it queues anew when the queue can be asked");
}

}  // namespace
}  // namespace caravan::controller::testing
