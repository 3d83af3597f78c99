// Streams of a device, played by threads: a group whose lanes are one thread each, which take what they are
// given in order and meet the other ranks by that order alone. Over a fake group, so ranks are threads too.
//
// Unlike a device's stream the caller's thread itself waits in wait(); what a lane is given may then be read
// and written as on a device: from its start until somebody waited for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "worker/trainer/comm/nccl/stream_group.h"

namespace caravan::trainer {

class ThreadedOperation final : public StreamOperation {
 public:
  explicit ThreadedOperation(std::shared_future<void> done) : done_(std::move(done)) {}
  void wait() override { done_.get(); }
  bool finished() override { return done_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  std::optional<std::string> error() override {
    if (!finished()) return std::nullopt;
    try {
      done_.get();
    } catch (const std::exception& error) {
      return error.what();
    }
    return std::nullopt;
  }

 private:
  std::shared_future<void> done_;
};

// One after the other.
class ThreadedLane {
 public:
  StartedOperation start(std::function<void()> work) {
    std::packaged_task<void()> task(std::move(work));
    auto operation = std::make_shared<ThreadedOperation>(task.get_future().share());
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    bell_.notify_one();
    return operation;
  }

 private:
  void run(const std::stop_token& stop) {
    while (true) {
      std::unique_lock lock(mutex_);
      bell_.wait(lock, stop, [&] { return !tasks_.empty(); });
      if (tasks_.empty()) return;
      std::packaged_task<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any bell_;
  std::deque<std::packaged_task<void()>> tasks_;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

class ThreadedStreams final : public StreamGroup {
 public:
  // Nobody else uses the group.
  explicit ThreadedStreams(std::unique_ptr<Communicator> group) : group_(std::move(group)) {}

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }

  StartedOperation all_reduce(at::Tensor& tensor, Reduction reduction) override {
    return collective([this, tensor, reduction]() mutable { group_->all_reduce(tensor, reduction); });
  }
  StartedOperation all_gather(at::Tensor& output, const at::Tensor& input) override {
    return collective([this, output, input]() mutable { group_->all_gather(output, input); });
  }
  StartedOperation reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    return collective([this, output, input]() mutable { group_->reduce_scatter(output, input); });
  }
  StartedOperation broadcast(at::Tensor& tensor, int root) override {
    return collective([this, tensor, root]() mutable { group_->broadcast(tensor, root); });
  }
  StartedOperation exchange(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs) override {
    return collective([this, outputs, inputs]() mutable {
      std::vector<std::unique_ptr<PendingTransfer>> transfers;
      for (int peer = 0; peer < size(); ++peer) {
        at::Tensor& output = outputs[static_cast<std::size_t>(peer)];
        const at::Tensor& input = inputs[static_cast<std::size_t>(peer)];
        if (peer == rank()) {
          if (output.data_ptr() != input.data_ptr()) output.copy_(input);
          continue;
        }
        if (output.numel() > 0) transfers.push_back(group_->receive(output, peer, kExchangeTag));
        if (input.numel() > 0) transfers.push_back(group_->send(input, peer, kExchangeTag));
      }
      for (const auto& transfer : transfers) transfer->wait();
    });
  }

  StartedOperation send(const at::Tensor& tensor, int peer, Way way) override {
    return lane(way, rank(), peer).start([this, tensor, peer, way] {
      group_->send(tensor, peer, static_cast<int>(way))->wait();
    });
  }
  StartedOperation receive(at::Tensor& tensor, int peer, Way way) override {
    return lane(way, peer, rank()).start([this, tensor, peer, way]() mutable {
      group_->receive(tensor, peer, static_cast<int>(way))->wait();
    });
  }

  void abort() override { aborted = true; }

  std::atomic<bool> aborted = false;

 private:
  static constexpr int kExchangeTag = kWays;

  StartedOperation collective(std::function<void()> work) { return collectives_.start(std::move(work)); }
  ThreadedLane& lane(Way way, int from, int to) { return ways_[{way, from, to}]; }

  std::unique_ptr<Communicator> group_;
  std::map<std::tuple<Way, int, int>, ThreadedLane> ways_;
  ThreadedLane collectives_;
};

}  // namespace caravan::trainer
