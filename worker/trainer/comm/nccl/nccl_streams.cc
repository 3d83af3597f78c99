#include "worker/trainer/comm/nccl/nccl_streams.h"

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include <array>
#include <mutex>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>

#include "worker/trainer/comm/c10d_errors.h"

namespace caravan::trainer {
namespace {

using c10d::ProcessGroupNCCL;
using Group = c10::intrusive_ptr<ProcessGroupNCCL>;
using Work = c10::intrusive_ptr<c10d::Work>;

std::string words_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return on_one_line(error);
  }
}

// c10d's work holds the tensors until it goes, so it goes when it was waited for; what the watchdog asks then
// is an event behind it. Its thread has no device of its own: CUDA would take the first, and memory of it.
class NcclOperation final : public StreamOperation {
 public:
  NcclOperation(c10::Device device, Group group, Work work, std::string what)
      : device_(device), group_(std::move(group)), work_(std::move(work)), what_(std::move(what)) {}

  void wait() override {
    const std::scoped_lock lock(mutex_);
    if (!work_) return;
    guarded(what_, [&] {
      work_->wait();
      done_.record();
    });
    work_.reset();
  }

  bool finished() override {
    const std::scoped_lock lock(mutex_);
    try {
      const c10::cuda::CUDAGuard guard(device_);
      return work_ ? work_->isCompleted() : done_.query();
    } catch (const std::exception&) {
      return true;  // error() says why
    }
  }

  std::optional<std::string> error() override {
    const std::scoped_lock lock(mutex_);
    try {
      const c10::cuda::CUDAGuard guard(device_);
      if (work_ && work_->isCompleted() && work_->exception()) return words_of(work_->exception());
      if (!work_) done_.query();
    } catch (const std::exception& error) {
      return on_one_line(error);
    }
    if (group_->getError() == c10d::ErrorType::COMM_ERROR) return "NCCL lost the connection to another rank";
    return std::nullopt;
  }

 private:
  const c10::Device device_;
  std::mutex mutex_;
  Group group_;
  Work work_;
  at::cuda::CUDAEvent done_;
  std::string what_;
};

class NcclStreams final : public StreamGroup {
 public:
  NcclStreams(const NcclStreamsOptions& options, const c10::intrusive_ptr<c10d::Store>& store)
      : options_(options), store_(store) {}

  int rank() const override { return options_.rank; }
  int size() const override { return options_.size; }

  StartedOperation all_reduce(at::Tensor& tensor, Reduction reduction) override {
    std::vector<at::Tensor> tensors{tensor};
    c10d::AllreduceOptions options;
    options.reduceOp = reduction == Reduction::Sum ? c10d::ReduceOp::SUM : c10d::ReduceOp::MAX;
    return start("all-reduce", [&](Group& group) { return group->allreduce(tensors, options); });
  }

  StartedOperation all_gather(at::Tensor& output, const at::Tensor& input) override {
    at::Tensor own = input;
    return start("all-gather", [&](Group& group) { return group->_allgather_base(output, own); });
  }

  StartedOperation reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    at::Tensor all = input;
    return start("reduce-scatter", [&](Group& group) { return group->_reduce_scatter_base(output, all); });
  }

  StartedOperation broadcast(at::Tensor& tensor, int root) override {
    std::vector<at::Tensor> tensors{tensor};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    return start("broadcast", [&](Group& group) { return group->broadcast(tensors, options); });
  }

  StartedOperation exchange(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs) override {
    return start("exchange", [&](Group& group) { return group->alltoall(outputs, inputs); });
  }

  StartedOperation send(const at::Tensor& tensor, int peer, Way way) override {
    std::vector<at::Tensor> tensors{tensor};
    return start_on(way, fmt::format("send to rank {} of the group", peer),
                    [&](Group& group) { return group->send(tensors, peer, /*tag=*/0); });
  }

  StartedOperation receive(at::Tensor& tensor, int peer, Way way) override {
    std::vector<at::Tensor> tensors{tensor};
    return start_on(way, fmt::format("receive from rank {} of the group", peer),
                    [&](Group& group) { return group->recv(tensors, peer, /*tag=*/0); });
  }

  void abort() override {
    const std::scoped_lock lock(mutex_);
    if (collectives_) collectives_->abort();
    for (Group& way : ways_) {
      if (way) way->abort();
    }
  }

  void meet_for_collectives() {
    at::Tensor one = at::zeros({1}, at::device(options_.device).dtype(at::kFloat));
    all_reduce(one, Reduction::Sum)->wait();
  }

  // A message on each way: c10d makes a communicator with the first. In a pair the lower rank sends what goes
  // up and receives what comes down.
  void meet_neighbours() {
    for (const auto& [peer, way] : options_.ways) {
      at::Tensor one = at::zeros({1}, at::device(options_.device).dtype(at::kFloat));
      const bool sends = (peer > rank()) == goes_up(way);
      (sends ? send(one, peer, way) : receive(one, peer, way))->wait();
    }
  }

 private:
  std::string describe(const std::string& operation) const {
    return fmt::format("{} in group {} (rank {} of {})", operation, options_.name, rank(), size());
  }

  Group make(const std::string& lane) const {
    const auto options = ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
    // c10d's own time-out would come with ours; it is not to be the first.
    options->timeout = 2 * options_.timeout;
    const auto store =
        c10::make_intrusive<c10d::PrefixStore>(fmt::format("{}/{}", options_.name, lane), store_);
    return guarded(describe("forming it"),
                   [&] { return c10::make_intrusive<ProcessGroupNCCL>(store, rank(), size(), options); });
  }

  Group& made(Group& group, const std::string& lane) {
    const std::scoped_lock lock(mutex_);
    if (!group) group = make(lane);
    return group;
  }

  template <typename Start>
  StartedOperation start(const char* operation, Start&& start_it) {
    return start_in(made(collectives_, "collectives"), describe(operation), start_it);
  }

  template <typename Start>
  StartedOperation start_on(Way way, const std::string& operation, Start&& start_it) {
    const auto number = static_cast<std::size_t>(way);
    return start_in(made(ways_[number], fmt::format("way-{}", number)), describe(operation), start_it);
  }

  template <typename Start>
  StartedOperation start_in(Group& group, const std::string& what, Start&& start_it) {
    const c10::cuda::CUDAGuard guard(options_.device);
    return std::make_shared<NcclOperation>(options_.device, group,
                                           guarded(what, [&] { return start_it(group); }), what);
  }

  const NcclStreamsOptions options_;
  const c10::intrusive_ptr<c10d::Store> store_;
  std::mutex mutex_;  // of what abort() reads from another thread
  Group collectives_;
  std::array<Group, kWays> ways_;
};

}  // namespace

std::shared_ptr<StreamGroup> nccl_streams(const NcclStreamsOptions& options,
                                          const c10::intrusive_ptr<c10d::Store>& store) {
  auto streams = std::make_shared<NcclStreams>(options, store);
  if (options.ways.empty()) {
    streams->meet_for_collectives();
  } else {
    streams->meet_neighbours();
  }
  return streams;
}

}  // namespace caravan::trainer
