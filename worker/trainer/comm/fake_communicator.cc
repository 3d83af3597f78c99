#include "worker/trainer/comm/fake_communicator.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/sum.h>
#include <fmt/format.h>

#include <barrier>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace caravan::trainer {
namespace {

class Mailbox {
 public:
  using Address = std::tuple<int, int, int>;  // from, to, tag

  void put(const Address& address, at::Tensor tensor) {
    const std::scoped_lock lock(mutex_);
    letters_[address].push_back(std::move(tensor));
    arrived_.notify_all();
  }

  at::Tensor take(const Address& address) {
    std::unique_lock lock(mutex_);
    auto& waiting = letters_[address];
    arrived_.wait(lock, [&] { return !waiting.empty(); });
    at::Tensor tensor = std::move(waiting.front());
    waiting.pop_front();
    return tensor;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<Address, std::deque<at::Tensor>> letters_;
};

struct Group {
  explicit Group(int ranks) : size(ranks), inputs(ranks), everybody(ranks) {}

  const int size;
  std::vector<at::Tensor> inputs;  // by rank, of the operation under way
  std::barrier<> everybody;
  Mailbox mailbox;
};

class Sent final : public PendingTransfer {
 public:
  void wait() override {}
};

class Receiving final : public PendingTransfer {
 public:
  Receiving(Mailbox& mailbox, Mailbox::Address from, at::Tensor into)
      : mailbox_(mailbox), from_(std::move(from)), into_(std::move(into)) {}
  void wait() override { into_.copy_(mailbox_.take(from_)); }

 private:
  Mailbox& mailbox_;
  const Mailbox::Address from_;
  at::Tensor into_;
};

class FakeCommunicator final : public Communicator {
 public:
  FakeCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size; }

  void all_reduce(at::Tensor& tensor, Reduction reduction) override {
    if (size() == 1) return;
    if (tensor.scalar_type() == at::kBFloat16) {
      at::Tensor wide = tensor.to(at::kFloat);
      all_reduce(wide, reduction);
      tensor.copy_(wide);
      return;
    }
    meet(tensor);
    reduce_own_slice(reduction);
    leave();
  }

  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    check_times_size(output, input, "all_gather");
    meet(input);
    for (int r = 0; r < size(); ++r) part(output, r).copy_(group_->inputs[r].flatten());
    leave();
  }

  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    check_times_size(input, output, "reduce_scatter");
    if (size() == 1) {
      output.copy_(input);
      return;
    }
    at::Tensor parts = at::empty_like(input);
    all_to_all(parts, input);
    at::Tensor sum = output.flatten();
    at::sum_out(sum, parts.view({size(), -1}), 0);
  }

  void all_to_all(at::Tensor& output, const at::Tensor& input) override {
    meet(input);
    for (int r = 0; r < size(); ++r) part(output, r).copy_(part(group_->inputs[r], rank_));
    leave();
  }

  void broadcast(at::Tensor& tensor, int root) override {
    meet(tensor);
    if (rank_ != root) tensor.copy_(group_->inputs[root]);
    leave();
  }

  void barrier() override { group_->everybody.arrive_and_wait(); }

  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override {
    group_->mailbox.put({rank_, peer, tag}, tensor.clone());
    return std::make_unique<Sent>();
  }

  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override {
    return std::make_unique<Receiving>(group_->mailbox, Mailbox::Address{peer, rank_, tag}, tensor);
  }

 private:
  // All ranks show their tensor; from here until leave() everybody may read all of them.
  void meet(const at::Tensor& tensor) {
    group_->inputs[rank_] = tensor;
    group_->everybody.arrive_and_wait();
    bool agreed = true;
    for (const at::Tensor& other : group_->inputs)
      agreed = agreed && other.sizes() == tensor.sizes() && other.scalar_type() == tensor.scalar_type();
    if (!agreed) {
      leave();
      throw CommunicationError(
          fmt::format("rank {}: the ranks of the group disagree about shape or type", rank_));
    }
  }

  void leave() {
    group_->everybody.arrive_and_wait();
    group_->inputs[rank_].reset();
  }

  void check_times_size(const at::Tensor& large, const at::Tensor& small, const char* operation) const {
    if (large.numel() != small.numel() * size())
      throw CommunicationError(fmt::format("rank {}: {} of {} and {} elements over {} ranks", rank_,
                                           operation, large.numel(), small.numel(), size()));
  }

  // The r-th of `size` equal parts.
  at::Tensor part(const at::Tensor& tensor, int r) const {
    const int64_t elements = tensor.numel() / size();
    return tensor.flatten().narrow(0, r * elements, elements);
  }

  // Each rank reduces a slice of its own, and is the only one to touch that slice in anybody's tensor.
  void reduce_own_slice(Reduction reduction) {
    const int64_t elements = group_->inputs[0].numel();
    const int64_t begin = elements * rank_ / size();
    const int64_t length = elements * (rank_ + 1) / size() - begin;
    const auto slice = [&](int r) { return group_->inputs[r].flatten().narrow(0, begin, length); };
    at::Tensor result = slice(0);
    for (int r = 1; r < size(); ++r) {
      if (reduction == Reduction::Sum) {
        result.add_(slice(r));
      } else {
        at::maximum_out(result, result, slice(r));
      }
    }
    for (int r = 1; r < size(); ++r) slice(r).copy_(result);
  }

  const std::shared_ptr<Group> group_;
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_fake_group(int size) {
  const auto group = std::make_shared<Group>(size);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_unique<FakeCommunicator>(group, rank));
  return ranks;
}

}  // namespace caravan::trainer
