#include "worker/trainer/comm/background_group.h"

#include <ATen/Parallel.h>

#include <exception>
#include <future>
#include <optional>
#include <utility>

#include "worker/trainer/comm/thread_lane.h"
#include "worker/trainer/memory/counting_allocator.h"

// Of the OpenMP that LibTorch uses; not all compilers come with its header.
extern "C" void omp_set_num_threads(int threads);

namespace caravan::trainer {
namespace {

class BackgroundTransfer final : public PendingTransfer {
 public:
  // time: written before it is done.
  BackgroundTransfer(std::shared_future<void> done, std::shared_ptr<const WorkingTime> time)
      : done_(std::move(done)), time_(std::move(time)) {}

  void wait() override { done_.get(); }
  std::optional<WorkingTime> worked() const override { return *time_; }

 private:
  const std::shared_future<void> done_;
  const std::shared_ptr<const WorkingTime> time_;
};

// Of this thread alone: LibTorch's own function would change the number for all.
void stay_one_thread() {
  (void)at::get_num_threads();  // which sets it on the first call
  omp_set_num_threads(1);
}

class BackgroundGroup final : public Communicator {
 public:
  explicit BackgroundGroup(std::unique_ptr<Communicator> group) : group_(std::move(group)) {}

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }

  void all_reduce(at::Tensor& tensor, Reduction reduction) override {
    settled().all_reduce(tensor, reduction);
  }
  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    settled().all_gather(output, input);
  }
  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    settled().reduce_scatter(output, input);
  }
  void broadcast(at::Tensor& tensor, int root) override { settled().broadcast(tensor, root); }
  void barrier() override { settled().barrier(); }

  bool overlaps() const override { return true; }
  std::unique_ptr<PendingTransfer> start(const Collective& collective) override {
    using Clock = std::chrono::steady_clock;
    MemoryCounter* const counter = charged_now(otherwise_);
    const auto time = std::make_shared<WorkingTime>();
    last_ = lane_.give([this, collective, counter, time] {
      if (failure_) std::rethrow_exception(failure_);
      time->begin = Clock::now();
      std::optional<CountTo> charge;
      if (counter != nullptr && counter != &otherwise_) charge.emplace(*counter);
      try {
        call(*group_, collective);
      } catch (...) {
        failure_ = std::current_exception();
        throw;
      }
      time->end = Clock::now();
    });
    return std::make_unique<BackgroundTransfer>(last_, time);
  }

  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override {
    return settled().send(tensor, peer, tag);
  }
  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override {
    return settled().receive(tensor, peer, tag);
  }

 private:
  // Whoever started what has failed hears of it, too.
  Communicator& settled() {
    if (last_.valid()) last_.get();
    return *group_;
  }

  const std::unique_ptr<Communicator> group_;
  MemoryCounter otherwise_;
  std::shared_future<void> last_;
  std::exception_ptr failure_;  // of the lane's thread: what follows it has no meaning
  ThreadLane lane_{stay_one_thread};
};

}  // namespace

std::unique_ptr<Communicator> in_background(std::unique_ptr<Communicator> group) {
  return std::make_unique<BackgroundGroup>(std::move(group));
}

}  // namespace caravan::trainer
