// The checkpoint that somebody wants now: passed to one attempt after another until one of them answers it,
// by a checkpoint or by the word that it failed. Asked for again, it is not made again: the answer is
// repeated.
//
// Requests are told apart by their names; of several that wait the last one stands for all. What the ranks
// have answered stands in their checkpoints too (CheckpointManifest.answered_request), so that a coordinator
// that knows nothing hears of it when they resume. Pure.
#pragma once

#include <optional>
#include <string>

#include "caravan/v1alpha1/coordination.pb.h"

namespace caravan::agent {

class SaveWish {
 public:
  enum class Next { kPass, kRepeatAnswer, kWait };

  Next ask(const std::string& request) {
    if (request.empty()) return Next::kPass;  // has no name: asked once
    if (request == request_) return answer_ ? Next::kRepeatAnswer : Next::kWait;
    request_ = request;
    answer_.reset();
    return Next::kPass;
  }

  void hear(const v1alpha1::JobCheckpoint& told) {
    const std::string& request = told.report().request();
    if (request.empty() || (!request_.empty() && request != request_)) return;
    request_ = request;
    answer_ = told;
  }

  // What a new attempt must hear of.
  std::optional<std::string> waiting() const {
    return request_.empty() || answer_ ? std::nullopt : std::optional(request_);
  }
  // After kRepeatAnswer. It has no news of checkpoints, which others have followed by now.
  v1alpha1::JobCheckpoint repeated_answer() const {
    v1alpha1::JobCheckpoint told;
    told.set_attempt(answer_->attempt());
    told.mutable_report()->set_outcome(v1alpha1::CheckpointReport::Answered);
    told.mutable_report()->set_step(answer_->report().step());
    told.mutable_report()->set_request(request_);
    return told;
  }

 private:
  std::string request_;  // the last one
  std::optional<v1alpha1::JobCheckpoint> answer_;
};

}  // namespace caravan::agent
