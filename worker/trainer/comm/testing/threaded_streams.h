// Streams of a device, played by threads: a group whose lanes are one thread each, which take what they are
// given in order and meet the other ranks by that order alone. Over a fake group, so ranks are threads too.
//
// Unlike a device's stream the caller's thread itself waits in wait(); what a lane is given may then be read
// and written as on a device: from its start until somebody waited for it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "worker/trainer/comm/nccl/stream_group.h"
#include "worker/trainer/comm/thread_lane.h"

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
    return given(lane(way, rank(), peer),
                 [this, tensor, peer, way] { group_->send(tensor, peer, static_cast<int>(way))->wait(); });
  }
  StartedOperation receive(at::Tensor& tensor, int peer, Way way) override {
    return given(lane(way, peer, rank()), [this, tensor, peer, way]() mutable {
      group_->receive(tensor, peer, static_cast<int>(way))->wait();
    });
  }

  void abort() override { aborted = true; }

  std::atomic<bool> aborted = false;

 private:
  static constexpr int kExchangeTag = kWays;

  static StartedOperation given(ThreadLane& lane, std::function<void()> work) {
    return std::make_shared<ThreadedOperation>(lane.give(std::move(work)));
  }
  StartedOperation collective(std::function<void()> work) { return given(collectives_, std::move(work)); }
  ThreadLane& lane(Way way, int from, int to) { return ways_[{way, from, to}]; }

  std::unique_ptr<Communicator> group_;
  std::map<std::tuple<Way, int, int>, ThreadLane> ways_;
  ThreadLane collectives_;
};

}  // namespace caravan::trainer
