#include "service/steps/step_follower.h"

#include <gmock/gmock.h>

#include <deque>
#include <thread>

#include "common/testing/manual_clock.h"

namespace caravan::service {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using v1alpha1::WatchStepsResponse;

WatchStepsResponse told(std::initializer_list<int> steps, bool is_all) {
  WatchStepsResponse response;
  for (const int step : steps) {
    response.add_samples()->set_attempt(1);
    response.mutable_samples()->rbegin()->set_step(step);
  }
  response.set_is_all(is_all);
  return response;
}

tl::unexpected<Fault> away() {
  return fault(Code::kUnavailable, faults::kOperatorAway, "away");
}

// Plays the operator and the job, round by round.
class StepFollowerTest : public ::testing::Test {
 protected:
  struct Round {
    std::vector<WatchStepsResponse> responses = {};
    bool is_away = false;
    bool job_ends = false;  // behind it
  };

  Answer<void> run(bool follow, StepCursor at = {}) {
    StepFollower follower(
        clock_, paces_,
        {.job_has_ended = [this](const CallContext&) { return has_ended(); },
         .read = [this](const CallContext& context, StepCursor from,
                        const auto& take) { return read(context, from, take); },
         .put = [this](const WatchStepsResponse& response, StepCursor to) { return put(response, to); }},
        follow, at);
    return follower.run(stop_.get_token());
  }

  Answer<bool> has_ended() {
    if (refused_) return fault(Code::kPermissionDenied, faults::kForbidden, "no longer");
    return job_has_ended_;
  }

  // As the operator's stream: until it is enough, or the round's time is over.
  Answer<void> read(const CallContext& context, StepCursor from, const OperatorLink::Take& take) {
    began_at_.push_back(from.step);
    const Round round = rounds_.empty() ? Round{} : std::move(rounds_.front());
    if (!rounds_.empty()) rounds_.pop_front();
    job_has_ended_ = job_has_ended_ || round.job_ends;
    if (round.is_away) {
      clock_.advance(1s);
      return away();
    }
    for (const WatchStepsResponse& response : round.responses) {
      if (!take(response)) return {};
    }
    clock_.advance(context.deadline - clock_.now());
    return {};
  }

  std::jthread let_time_pass() {
    return std::jthread([this](const std::stop_token& over) {
      for (; !over.stop_requested(); std::this_thread::sleep_for(1ms)) clock_.advance(500ms);
    });
  }

  bool put(const WatchStepsResponse& response, StepCursor to) {
    if (response.samples().empty()) ++heartbeats_;
    for (const auto& sample : response.samples()) put_.push_back(sample.step());
    cursor_ = to;
    if (static_cast<int>(put_.size()) >= reader_leaves_after_) stop_.request_stop();
    return !stop_.stop_requested();
  }

  caravan::testing::ManualClock clock_;
  StepFollower::Paces paces_;
  std::stop_source stop_;
  std::deque<Round> rounds_;
  bool job_has_ended_ = false;
  bool refused_ = false;
  int reader_leaves_after_ = 1000;
  std::vector<int> began_at_;
  std::vector<int> put_;
  int heartbeats_ = 0;
  StepCursor cursor_;
};

TEST_F(StepFollowerTest, WhatThereIsIsReadOnce) {
  rounds_ = {{.responses = {told({1, 2}, false), told({3}, true), told({4}, true)}}};
  EXPECT_TRUE(run(false).has_value());
  EXPECT_THAT(put_, ElementsAre(1, 2, 3)) << "not what comes later";
  EXPECT_EQ(cursor_, (StepCursor{1, 3}));
}

TEST_F(StepFollowerTest, NothingIsAlsoAnAnswer) {
  rounds_ = {{.responses = {told({}, true)}}};
  EXPECT_TRUE(run(false).has_value());
  EXPECT_THAT(put_, IsEmpty());
}

TEST_F(StepFollowerTest, ARunningJobIsFollowedUntilItHasEndedAndAllIsRead) {
  rounds_ = {{.responses = {told({1}, true), told({2}, true)}},
             {.responses = {told({}, true), told({3}, true)}, .job_ends = true},
             {.responses = {told({4}, true)}}};
  EXPECT_TRUE(run(true).has_value());
  EXPECT_THAT(put_, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(began_at_, ElementsAre(0, 2, 3)) << "each round goes on behind the one before";
}

TEST_F(StepFollowerTest, AReaderThatGoesOnBeginsBehindHisCursor) {
  rounds_ = {{.responses = {told({8}, true)}}};
  EXPECT_TRUE(run(false, {1, 7}).has_value());
  EXPECT_THAT(began_at_, ElementsAre(7));
}

TEST_F(StepFollowerTest, AnOperatorThatIsAwayIsWaitedForWhileTheJobRuns) {
  rounds_ = {{.responses = {told({1}, true)}}};
  for (int i = 0; i < 100; ++i) rounds_.push_back({.is_away = true});
  rounds_.push_back({.responses = {told({2}, true)}, .job_ends = true});
  rounds_.push_back({.responses = {told({}, true)}});
  const std::jthread time = let_time_pass();
  EXPECT_TRUE(run(true).has_value());
  EXPECT_THAT(put_, ElementsAre(1, 2));
  EXPECT_GE(heartbeats_, 1) << "the reader learns that the stream is alive";
}

TEST_F(StepFollowerTest, AnOperatorThatStaysAwayIsToldWhereNothingMoreIsToCome) {
  paces_.silence = 5s;  // well within the patience
  for (int i = 0; i < 1000; ++i) rounds_.push_back({.is_away = true});
  const std::jthread time = let_time_pass();
  const Answer<void> ended = run(false);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().reason, faults::kOperatorAway);
  EXPECT_EQ(heartbeats_, 0) << "who asks again until nothing comes would ask for ever";
}

TEST_F(StepFollowerTest, AnOperatorThatTellsNothingIsGivenUpWhereNothingMoreIsToCome) {
  const Answer<void> ended = run(false);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().reason, faults::kOperatorAway);
  EXPECT_EQ(began_at_.size(), 6u) << "rounds of five seconds";
}

TEST_F(StepFollowerTest, WhoMayNoLongerIsToldNoMore) {
  refused_ = true;
  const Answer<void> ended = run(true);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kPermissionDenied);
  EXPECT_THAT(began_at_, IsEmpty());
}

TEST_F(StepFollowerTest, AReaderWhoLeavesEndsIt) {
  reader_leaves_after_ = 2;
  rounds_ = {{.responses = {told({1}, true), told({2}, true), told({3}, true)}}};
  const Answer<void> ended = run(true);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kCancelled);
  EXPECT_THAT(put_, ElementsAre(1, 2));
}

}  // namespace
}  // namespace caravan::service
