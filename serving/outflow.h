// A stream of answers that writes no faster than its reader reads.
//
// What comes next is asked for when there is room for it, so a slow reader costs no memory here; whoever has
// something new wakes the stream. Whoever ends it first ends it for good. Only for .cc files: this header is
// heavy.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

namespace caravan {

template <typename Response>
class Outflow final : public grpc::ServerWriteReactor<Response>,
                      public std::enable_shared_from_this<Outflow<Response>> {
 public:
  // False: there is nothing now; asked for one message ahead of the one that is written. Called by one thread
  // at a time, and must not call back.
  using Next = std::function<bool(Response& into)>;

  // gRPC owns it until its call is over.
  // on_done: with the code that it ended with.
  static std::shared_ptr<Outflow> make(std::function<void(int code)>&& on_done) {
    std::shared_ptr<Outflow> flow(new Outflow());
    flow->self_ = flow;
    flow->on_done_ = std::move(on_done);
    return flow;
  }

  void flow(Next next) {
    {
      const std::scoped_lock lock(mutex_);
      next_ = std::move(next);
    }
    wake();
  }

  void wake() {
    const std::scoped_lock lock(mutex_);
    write_next();
  }

  void end(const grpc::Status& status) {
    const auto self = this->shared_from_this();
    {
      const std::scoped_lock lock(mutex_);
      if (std::exchange(ended_, true)) return;
      code_ = status.error_code();
      next_ = nullptr;  // a reader who takes nothing may keep the call open for long
    }
    stop_.request_stop();
    this->Finish(status);
  }

  std::stop_token stop() const { return stop_.get_token(); }
  // Held until the call is over.
  void keep(std::shared_ptr<void> ticket) {
    const std::scoped_lock lock(mutex_);
    kept_ = std::move(ticket);
  }

 private:
  Outflow() = default;

  void write_next() {
    if (ended_ || writes_ || !next_) return;
    if (!std::exchange(has_following_, false) && !take(following_)) return;
    std::swap(response_, following_);
    has_following_ = take(following_);
    writes_ = true;
    // Those of a burst go together. Not the first: the transport would hold back the headers that go with it,
    // and not be done with it before they are sent.
    const bool waits = std::exchange(headers_sent_, true) && has_following_;
    this->StartWrite(&response_, waits ? grpc::WriteOptions().set_buffer_hint() : grpc::WriteOptions());
  }
  bool take(Response& into) {
    into.Clear();
    return next_(into);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return end(grpc::Status::CANCELLED);
    const std::scoped_lock lock(mutex_);
    writes_ = false;
    write_next();
  }
  void OnCancel() override { end(grpc::Status::CANCELLED); }
  void OnDone() override {
    stop_.request_stop();
    const auto self = std::move(self_);
    const std::scoped_lock lock(mutex_);
    next_ = nullptr;
    kept_ = nullptr;
    on_done_(code_);
  }

  std::mutex mutex_;
  std::shared_ptr<Outflow> self_;  // until OnDone
  std::stop_source stop_;
  Next next_;
  Response response_;   // that is written
  Response following_;  // the one behind it, where there is one
  bool has_following_ = false;
  bool headers_sent_ = false;
  bool writes_ = false;
  bool ended_ = false;
  std::shared_ptr<void> kept_;
  std::function<void(int)> on_done_;
  int code_ = 0;
};

}  // namespace caravan
