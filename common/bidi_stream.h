// One bidirectional gRPC stream, client's or server's end: reads all the time, writes one message after
// another from a queue, never blocks the caller.
//
// `received` and `broken` are called by gRPC's threads, one at a time; after `broken` nothing comes or goes
// any more.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace caravan {

// Base: grpc::ClientBidiReactor<Out, In> or grpc::ServerBidiReactor<In, Out>, which only its users include.
// Queue: of Out, as std::deque.
template <typename Base, typename Out, typename In, typename Queue = std::deque<Out>>
class BidiStream : public Base {
 public:
  explicit BidiStream(Queue queue = Queue()) : queue_(std::move(queue)) {}

  void send(Out message) {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    queue_.push_back(std::move(message));
    write_next();
  }

  // Until all messages are on their way, or nothing goes any more; not longer than that.
  void wait_until_sent(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    written_.wait_for(lock, patience, [this] { return closed_ || (queue_.empty() && !writing_); });
  }

 protected:
  void read_next() {
    const std::scoped_lock lock(mutex_);
    incoming_.Clear();
    this->StartRead(&incoming_);
  }
  virtual void received(In& message) = 0;
  virtual void broken() = 0;

 private:
  void OnReadDone(bool ok) final {
    if (ok) {
      received(incoming_);
      return read_next();
    }
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
      written_.notify_all();
      if (writing_) return;  // broken() follows the write
    }
    broken();
  }

  void OnWriteDone(bool ok) final {
    bool last = false;
    {
      const std::scoped_lock lock(mutex_);
      writing_ = false;
      if (ok) write_next();
      last = closed_;
      written_.notify_all();
    }
    if (last) broken();
  }

  void write_next() {
    if (writing_ || closed_ || queue_.empty()) return;
    writing_ = true;
    outgoing_ = queue_.front();  // out of the queue, which may drop or move what it holds
    queue_.pop_front();
    this->StartWrite(&outgoing_);
  }

  std::mutex mutex_;
  std::condition_variable written_;
  In incoming_;
  Queue queue_;
  Out outgoing_;
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace caravan
