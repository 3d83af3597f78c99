// Stands before another transport and decides what becomes of each write: any may be lost on its way there or
// back, or be the last one that its sender lives to make. Then nothing passes until the next sender starts.
#pragma once

#include <functional>
#include <mutex>

#include "kube/transport/transport.h"

namespace caravan::controller::testing {

// kDiesBefore, kDiesAfter: the sender is gone before the write leaves, or once it has the answer.
enum class Fate { kDone, kLostBefore, kReplyLost, kDiesBefore, kDiesAfter };

class FatefulTransport final : public kube::Transport {
 public:
  // fate: what happens to the write of that number, from 1.
  FatefulTransport(kube::Transport& next, std::function<Fate(int)> fate)
      : next_(next), fate_(std::move(fate)) {}

  kube::ApiResult<kube::HttpResponse> call(const CallContext& context,
                                           const kube::HttpRequest& request) override {
    if (sender_died()) return kube::api_failure(kube::ErrorKind::kBroken, "nobody is there to send it");
    if (request.method == "GET") return next_.call(context, request);
    const Fate fate = fate_of_next();
    if (fate == Fate::kLostBefore || fate == Fate::kDiesBefore)
      return kube::api_failure(kube::ErrorKind::kBroken, "lost on the way");
    auto response = next_.call(context, request);
    if (fate == Fate::kReplyLost) return kube::api_failure(kube::ErrorKind::kBroken, "the answer was lost");
    return response;
  }
  kube::ApiResult<std::unique_ptr<kube::HttpStream>> open(const CallContext& context,
                                                          const kube::HttpRequest& request) override {
    return next_.open(context, request);
  }

  int writes() const {
    const std::scoped_lock lock(mutex_);
    return writes_;
  }
  bool sender_died() const {
    const std::scoped_lock lock(mutex_);
    return sender_died_;
  }
  void start_sender() {
    const std::scoped_lock lock(mutex_);
    sender_died_ = false;
  }

 private:
  Fate fate_of_next() {
    const std::scoped_lock lock(mutex_);
    const Fate fate = fate_(++writes_);
    sender_died_ = fate == Fate::kDiesBefore || fate == Fate::kDiesAfter;
    return fate;
  }

  kube::Transport& next_;
  std::function<Fate(int)> fate_;
  mutable std::mutex mutex_;
  int writes_ = 0;
  bool sender_died_ = false;
};

}  // namespace caravan::controller::testing
