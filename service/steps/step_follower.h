// Reads the steps of a job for one stream, through failures of the operator and changes of who leads.
//
// In rounds: before each, it is asked whether the stream may go on and the job has ended. Of a job that has,
// what the operator has by then is all, and the stream ends.
#pragma once

#include <chrono>
#include <functional>

#include "service/operator_link.h"

namespace caravan::service {

class StepFollower {
 public:
  struct Paces {
    std::chrono::milliseconds round{5'000};
    std::chrono::milliseconds pause{1'000};  // without an answer
    // Then a message without samples says that the stream is alive, while more is to come.
    std::chrono::milliseconds silence{30'000};
    std::chrono::milliseconds patience{30'000};  // without an answer, where nothing more is to come
  };
  struct Outside {
    // A fault ends the stream.
    std::function<Answer<bool>(const CallContext&)> job_has_ended;
    // As OperatorLink::read().
    std::function<Answer<void>(const CallContext&, StepCursor, const OperatorLink::Take&)> read;
    // False: nobody wants more.
    std::function<bool(const v1alpha1::WatchStepsResponse&, StepCursor)> put;
  };

  // follow: until the job has ended; else what there is. at: behind which it begins.
  StepFollower(Clock& clock, const Paces& paces, Outside outside, bool follow, StepCursor at)
      : clock_(clock), paces_(paces), outside_(std::move(outside)), follow_(follow), at_(at) {}

  Answer<void> run(const std::stop_token& stop);

 private:
  // Whether the operator has told all that it has.
  Answer<bool> read_round(bool goes_on, const std::stop_token& stop);
  bool put(const v1alpha1::WatchStepsResponse& response);

  Clock& clock_;
  const Paces paces_;
  const Outside outside_;
  const bool follow_;
  StepCursor at_;
  Clock::TimePoint put_at_ = clock_.now();
  Clock::TimePoint answered_at_ = clock_.now();  // a message came, or the end was seen
};

}  // namespace caravan::service
