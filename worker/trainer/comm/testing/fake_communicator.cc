#include "worker/trainer/comm/testing/fake_communicator.h"

#include <fmt/format.h>

#include <barrier>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "worker/trainer/comm/ordered_reduction.h"
#include "worker/trainer/comm/partition.h"

namespace caravan::trainer {
namespace {

using Address = std::tuple<int, int, int>;  // from, to, tag

// One side of a transfer.
struct Half {
  at::Tensor tensor;
  bool done = false;
};

// Sends and receives that wait for each other. Whoever comes second copies: nothing is buffered, as on a
// wire.
class Post {
 public:
  std::shared_ptr<Half> send(const Address& address, at::Tensor tensor) {
    const std::scoped_lock lock(mutex_);
    return meet(std::move(tensor), sends_[address], receives_[address],
                [](Half& mine, Half& theirs) { theirs.tensor.copy_(mine.tensor); });
  }

  std::shared_ptr<Half> receive(const Address& address, at::Tensor tensor) {
    const std::scoped_lock lock(mutex_);
    return meet(std::move(tensor), receives_[address], sends_[address],
                [](Half& mine, Half& theirs) { mine.tensor.copy_(theirs.tensor); });
  }

  void wait(const Half& half) {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return half.done; });
  }

 private:
  using Queue = std::deque<std::shared_ptr<Half>>;

  template <typename Copy>
  std::shared_ptr<Half> meet(at::Tensor tensor, Queue& own_side, Queue& other_side, const Copy& copy) {
    auto mine = std::make_shared<Half>(Half{std::move(tensor)});
    if (other_side.empty()) {
      own_side.push_back(mine);
      return mine;
    }
    const std::shared_ptr<Half> theirs = other_side.front();
    other_side.pop_front();
    copy(*mine, *theirs);
    mine->done = theirs->done = true;
    finished_.notify_all();
    return mine;
  }

  std::mutex mutex_;
  std::condition_variable finished_;
  std::map<Address, Queue> sends_;
  std::map<Address, Queue> receives_;
};

struct Group {
  explicit Group(int ranks) : size(ranks), inputs(ranks), everybody(ranks) {}

  const int size;
  std::vector<at::Tensor> inputs;  // by rank, of the operation under way
  std::barrier<> everybody;
  Post post;
};

class FakeTransfer final : public PendingTransfer {
 public:
  FakeTransfer(std::shared_ptr<Group> group, std::shared_ptr<Half> half)
      : group_(std::move(group)), half_(std::move(half)) {}
  void wait() override { group_->post.wait(*half_); }

 private:
  const std::shared_ptr<Group> group_;
  const std::shared_ptr<Half> half_;
};

class FakeCommunicator final : public Communicator {
 public:
  FakeCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size; }

  void all_reduce(at::Tensor& tensor, Reduction reduction) override {
    meet(tensor);
    const Partition partition(tensor.numel(), size());
    reduce_own_part(reduction, partition, part_of(tensor, partition.part(rank_)));
    barrier();
    for (int other = 0; other < size(); ++other) {
      const Range part = partition.part(other);
      if (other != rank_) part_of(tensor, part).copy_(part_of(group_->inputs[other], part));
    }
    leave();
  }

  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    check_times_size(output, input, "all_gather");
    meet(input);
    for (int other = 0; other < size(); ++other) {
      const at::Tensor part = part_of(output, Partition(output.numel(), size()).part(other));
      copy_unless_same(part, group_->inputs[other].view(-1));
    }
    leave();
  }

  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    check_times_size(input, output, "reduce_scatter");
    meet(input);
    reduce_own_part(Reduction::Sum, Partition(input.numel(), size()), output.view(-1));
    leave();
  }

  void broadcast(at::Tensor& tensor, int root) override {
    meet(tensor);
    if (rank_ != root) tensor.copy_(group_->inputs[root]);
    leave();
  }

  void barrier() override { group_->everybody.arrive_and_wait(); }

  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override {
    return std::make_unique<FakeTransfer>(group_, group_->post.send({rank_, peer, tag}, tensor));
  }

  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override {
    return std::make_unique<FakeTransfer>(group_, group_->post.receive({peer, rank_, tag}, tensor));
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

  static at::Tensor part_of(const at::Tensor& tensor, Range part) { return view(tensor.view(-1), part); }

  // In cyclic rank order from the owner of the part on, as over a network. Nobody else reads what it is
  // written to, where that is a part of this rank's own.
  void reduce_own_part(Reduction reduction, const Partition& partition, const at::Tensor& own) const {
    std::vector<const void*> terms;
    for (int distance = 0; distance < size(); ++distance) {
      const at::Tensor& input = group_->inputs[(rank_ + distance) % size()];
      terms.push_back(part_of(input, partition.part(rank_)).data_ptr());
    }
    reduce_in_order(reduction, own.scalar_type(), own.data_ptr(), terms, own.numel());
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

  const std::shared_ptr<Group> group_;
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_fake_group(int size) {
  const auto group = std::make_shared<Group>(size);
  std::vector<std::unique_ptr<Communicator>> ranks;
  ranks.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_unique<FakeCommunicator>(group, rank));
  return ranks;
}

}  // namespace caravan::trainer
