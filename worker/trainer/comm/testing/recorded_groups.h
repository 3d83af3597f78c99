// Groups of ranks that are threads of one process, and the calls that each rank makes to each of its groups:
// what must be the same, in the same order, on all of them, since some transports have nothing but the order
// to go by. Tensors are sent on two channels, told apart by the last bit of their tag: activations go on one,
// gradients on the other (pipeline/executor.h).
#pragma once

#include <fmt/format.h>

#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/comm/testing/forwarding_communicator.h"

namespace caravan::trainer {

struct Channel {
  int peer = 0;
  int number = 0;
  auto operator<=>(const Channel&) const = default;
};

// Of one rank to one group, in order. A number of bytes is part of each.
struct GroupCalls {
  std::vector<std::string> collectives = {};
  std::map<Channel, std::vector<std::string>> sends = {};
  std::map<Channel, std::vector<std::string>> receives = {};
};

inline std::string words_of_call(const char* operation, const at::Tensor& tensor, int64_t detail) {
  return fmt::format("{} {} of {} bytes", operation, detail, tensor.nbytes());
}

class RecordingCommunicator final : public ForwardingCommunicator {
 public:
  // calls outlives it. overlap: what is started is said to go on alone, though it is over then.
  RecordingCommunicator(std::unique_ptr<Communicator> group, GroupCalls& calls, bool overlap)
      : ForwardingCommunicator(std::move(group)), calls_(calls), overlap_(overlap) {}

  bool overlaps() const override { return overlap_; }
  std::unique_ptr<PendingTransfer> start(const Collective& collective) override {
    return Communicator::start(collective);
  }

  void all_reduce(at::Tensor& tensor, Reduction reduction) override {
    record("all-reduce", tensor, static_cast<int64_t>(reduction));
    ForwardingCommunicator::all_reduce(tensor, reduction);
  }
  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    record("all-gather", output);
    ForwardingCommunicator::all_gather(output, input);
  }
  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    record("reduce-scatter", input);
    ForwardingCommunicator::reduce_scatter(output, input);
  }
  void broadcast(at::Tensor& tensor, int root) override {
    record("broadcast", tensor, root);
    ForwardingCommunicator::broadcast(tensor, root);
  }
  void barrier() override {
    calls_.collectives.emplace_back("barrier");
    ForwardingCommunicator::barrier();
  }
  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override {
    calls_.sends[{peer, tag % 2}].push_back(words_of_call("tag", tensor, tag));
    return ForwardingCommunicator::send(tensor, peer, tag);
  }
  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override {
    calls_.receives[{peer, tag % 2}].push_back(words_of_call("tag", tensor, tag));
    return ForwardingCommunicator::receive(tensor, peer, tag);
  }

 private:
  void record(const char* operation, const at::Tensor& tensor, int64_t detail = 0) {
    calls_.collectives.push_back(words_of_call(operation, tensor, detail));
  }

  GroupCalls& calls_;
  const bool overlap_;
};

// Outlives all groups.
class RecordedGroups {
 public:
  explicit RecordedGroups(bool overlap = false) : overlap_(overlap) {}

  // For one rank, which asks on a thread of its own.
  GroupFactory factory() {
    return [this](const GroupRequest& request) {
      const std::scoped_lock lock(mutex_);
      auto& members = members_[request.name];
      if (members.empty()) members = make_fake_group(request.size);
      auto& calls = calls_[request.name];
      calls.resize(static_cast<std::size_t>(request.size));
      const auto rank = static_cast<std::size_t>(request.rank);
      return std::make_unique<RecordingCommunicator>(std::move(members.at(rank)), calls[rank], overlap_);
    };
  }

  // By name of the group, then by rank.
  const std::map<std::string, std::vector<GroupCalls>>& calls() const { return calls_; }

 private:
  const bool overlap_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::unique_ptr<Communicator>>> members_;
  std::map<std::string, std::vector<GroupCalls>> calls_;
};

}  // namespace caravan::trainer
