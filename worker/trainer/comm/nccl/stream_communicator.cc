#include "worker/trainer/comm/nccl/stream_communicator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "worker/trainer/comm/partition.h"

namespace caravan::trainer {
namespace {

// Keeps the tensor of a transfer, as communicator.h has its callers do, and the verdict in sight.
class StreamTransfer final : public PendingTransfer {
 public:
  StreamTransfer(StartedOperation operation, const Watchdog& watchdog)
      : operation_(std::move(operation)), watchdog_(watchdog) {}

  void wait() override {
    watchdog_.throw_if_lost();
    operation_->wait();
    watchdog_.throw_if_lost();
  }

 private:
  StartedOperation operation_;
  const Watchdog& watchdog_;
};

bool is_narrow(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 || tensor.scalar_type() == at::kHalf;
}

class StreamCommunicator final : public Communicator {
 public:
  StreamCommunicator(StreamCommunicatorParts parts, Watchdog& watchdog)
      : parts_(std::move(parts)), watchdog_(watchdog), collectives_(whole_group()) {
    watchdog_.guard(parts_.device);
    watchdog_.enter(collectives_);
    for (const NeighbourWay& each : parts_.ways) enter(each);
  }

  int rank() const override { return parts_.host->rank(); }
  int size() const override { return parts_.host->size(); }

  void all_reduce(at::Tensor& tensor, Reduction reduction) override {
    if (!parts_.is_on_device(tensor)) return host().all_reduce(tensor, reduction);
    if (reduction == Reduction::Sum && is_narrow(tensor)) return add_up_narrow(tensor);
    run("all-reduce", tensor, [&] { return parts_.device->all_reduce(tensor, reduction); });
  }

  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    if (!parts_.is_on_device(output)) return host().all_gather(output, input);
    give({Collective::Kind::AllGather, output, input})->wait();
  }

  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    if (!parts_.is_on_device(input)) return host().reduce_scatter(output, input);
    if (is_narrow(input)) return scatter_narrow_sum(output.view(-1), input.view(-1));
    give({Collective::Kind::ReduceScatter, output, input})->wait();
  }

  void broadcast(at::Tensor& tensor, int root) override {
    if (!parts_.is_on_device(tensor)) return host().broadcast(tensor, root);
    run("broadcast", tensor, [&] { return parts_.device->broadcast(tensor, root); });
  }

  void barrier() override { host().barrier(); }

  void finalize() override { watchdog_.stop(); }

  bool overlaps() const override { return parts_.overlaps; }

  std::unique_ptr<PendingTransfer> start(const Collective& collective) override {
    const bool adds = collective.kind != Collective::Kind::AllGather;
    const at::Tensor& output = collective.output;
    const bool goes_on = overlaps() && parts_.is_on_device(output) && !(adds && is_narrow(output));
    if (!goes_on) return Communicator::start(collective);
    return std::make_unique<StreamTransfer>(give(collective), watchdog_);
  }

  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override {
    if (!parts_.is_on_device(tensor)) return host().send(tensor, peer, tag);
    const Way way = way_of(tag, rank(), peer);
    return transfer(tensor, tag, lane(way, rank(), peer),
                    [&] { return parts_.device->send(tensor, peer, way); });
  }

  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override {
    if (!parts_.is_on_device(tensor)) return host().receive(tensor, peer, tag);
    const Way way = way_of(tag, peer, rank());
    return transfer(tensor, tag, lane(way, peer, rank()),
                    [&] { return parts_.device->receive(tensor, peer, way); });
  }

 private:
  // An operation that was aborted has left garbage on the device, and all ranks would agree on what they make
  // of it.
  Communicator& host() {
    watchdog_.throw_if_lost();
    return *parts_.host;
  }

  Lane whole_group() const {
    Lane lane{
        .name = parts_.name, .members = std::vector<int>(static_cast<std::size_t>(size())), .rank = rank()};
    std::iota(lane.members.begin(), lane.members.end(), 0);
    return lane;
  }

  void enter(const NeighbourWay& each) {
    const auto [low, high] = std::minmax({rank(), each.peer});
    const int from = goes_up(each.way) ? low : high;
    const int to = goes_up(each.way) ? high : low;
    Lane& lane = ways_[{each.way, from, to}];
    lane = {.name = fmt::format("{}, {} from rank {} to rank {}", parts_.name, way_name(each.way), from, to),
            .members = {from, to},
            .rank = rank()};
    watchdog_.enter(lane);
  }

  const Lane& lane(Way way, int from, int to) const {
    const auto found = ways_.find({way, from, to});
    if (found == ways_.end())
      throw CommunicationError(
          fmt::format("group {}: no way on the device was formed for {} from rank {} to rank {}: the job's "
                      "schedule sends none",
                      parts_.name, way_name(way), from, to));
    return found->second;
  }

  template <typename Start>
  StartedOperation give(const Lane& lane, std::string words, Start&& start_it) {
    watchdog_.throw_if_lost();
    StartedOperation operation = start_it();
    watchdog_.note(lane, std::move(words), operation);
    return operation;
  }

  template <typename Start>
  void run(const char* operation, const at::Tensor& tensor, Start&& start_it) {
    give(collectives_, fmt::format("{} of {} bytes", operation, tensor.nbytes()), start_it)->wait();
  }

  StartedOperation give(const Collective& collective) {
    at::Tensor output = collective.output;
    const at::Tensor& input = collective.input;
    const auto words = [](const char* operation, const at::Tensor& whole) {
      return fmt::format("{} of {} bytes", operation, whole.nbytes());
    };
    switch (collective.kind) {
      case Collective::Kind::AllReduce:
        return give(collectives_, words("all-reduce", output),
                    [&] { return parts_.device->all_reduce(output, Reduction::Sum); });
      case Collective::Kind::AllGather:
        return give(collectives_, words("all-gather", output),
                    [&] { return parts_.device->all_gather(output, input); });
      case Collective::Kind::ReduceScatter:
        return give(collectives_, words("reduce-scatter", input),
                    [&] { return parts_.device->reduce_scatter(output, input); });
    }
    return {};
  }

  template <typename Start>
  std::unique_ptr<PendingTransfer> transfer(const at::Tensor& tensor, int tag, const Lane& lane,
                                            Start&& start_it) {
    return std::make_unique<StreamTransfer>(
        give(lane, fmt::format("tag {} of {} bytes", tag, tensor.nbytes()), start_it), watchdog_);
  }

  void exchange(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs, const at::Tensor& whole) {
    run("exchange", whole, [&] { return parts_.device->exchange(outputs, inputs); });
  }

  // target = the sum of what all ranks have of this rank's part of flat. target may be that part.
  void scatter_narrow_sum(const at::Tensor& target, const at::Tensor& flat) {
    const Partition partition(flat.numel(), size());
    const Range part = partition.part(rank());
    const int64_t piece = kPieceElements / size();
    for (int64_t begin = 0; begin < partition.part_elements(); begin += piece) {
      const Range own = partition.chunk(rank(), begin, piece);
      const at::Tensor received = at::empty({size(), own.size()}, flat.options());
      std::vector<at::Tensor> from;
      std::vector<at::Tensor> to;
      for (int peer = 0; peer < size(); ++peer) {
        from.push_back(received[peer]);
        to.push_back(view(flat, partition.chunk(peer, begin, piece)));
      }
      exchange(from, to, flat);
      if (own.size() == 0) continue;
      // In fp32, of which only the sum is rounded: ATen adds narrow numbers up so.
      at::Tensor sum = view(target, {own.begin - part.begin, own.end - part.begin});
      at::sum_out(sum, received, 0);
    }
  }

  void add_up_narrow(const at::Tensor& tensor) {
    const at::Tensor flat = tensor.view(-1);
    const Partition partition(flat.numel(), size());
    const at::Tensor own = view(flat, partition.part(rank()));
    scatter_narrow_sum(own, flat);
    std::vector<at::Tensor> from;
    std::vector<at::Tensor> to;
    for (int peer = 0; peer < size(); ++peer) {
      from.push_back(view(flat, partition.part(peer)));
      to.push_back(own);
    }
    exchange(from, to, flat);
  }

  StreamCommunicatorParts parts_;
  Watchdog& watchdog_;
  const Lane collectives_;
  std::map<std::tuple<Way, int, int>, Lane> ways_;
};

}  // namespace

std::unique_ptr<Communicator> stream_communicator(StreamCommunicatorParts parts, Watchdog& watchdog) {
  return std::make_unique<StreamCommunicator>(std::move(parts), watchdog);
}

}  // namespace caravan::trainer
