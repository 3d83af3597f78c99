#include "worker/trainer/comm/metered_communicator.h"

#include <optional>

namespace caravan::trainer {
namespace {

int64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<int64_t>(tensor.nbytes());
}

struct Gauge {
  std::string axis;
  Instruments instruments;

  template <typename Action>
  void measure(const char* operation, int64_t bytes, std::optional<int> peer, Action&& action) const {
    PhaseClock::Scope scope(instruments.clock, Wait{operation, axis, peer, bytes});
    const CountTo charge(instruments.memory);
    action();
    scope.tell([&meter = instruments.meter, operation, axis = axis, bytes](double seconds) {
      meter.add(operation, axis, bytes, seconds);
    });
  }
};

const char* name_of(Collective::Kind kind) {
  switch (kind) {
    case Collective::Kind::AllReduce:
      return "all_reduce";
    case Collective::Kind::AllGather:
      return "all_gather";
    case Collective::Kind::ReduceScatter:
      return "reduce_scatter";
  }
  return "";
}

class MeteredTransfer final : public PendingTransfer {
 public:
  MeteredTransfer(std::unique_ptr<PendingTransfer> transfer, const char* operation, int64_t bytes,
                  std::optional<int> peer, const Gauge& gauge)
      : transfer_(std::move(transfer)), operation_(operation), bytes_(bytes), peer_(peer), gauge_(gauge) {}

  void wait() override {
    gauge_.measure(operation_, 0, peer_, [&] { transfer_->wait(); });
    if (const auto time = transfer_->worked()) {
      note_beside({.kind = SpanKind::Communication,
                   .name = operation_,
                   .axis = gauge_.axis,
                   .bytes = bytes_,
                   .peer = peer_,
                   .begin = {.host = time->begin},
                   .end = {.host = time->end}});
    }
  }

 private:
  std::unique_ptr<PendingTransfer> transfer_;
  const char* operation_;
  int64_t bytes_;
  std::optional<int> peer_;
  const Gauge& gauge_;
};

class MeteredCommunicator final : public Communicator {
 public:
  MeteredCommunicator(std::unique_ptr<Communicator> group, std::string axis, const Instruments& instruments)
      : group_(std::move(group)), gauge_{std::move(axis), instruments} {}

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }

  void all_reduce(at::Tensor& tensor, Reduction reduction) override {
    collective("all_reduce", bytes_of(tensor), [&] { group_->all_reduce(tensor, reduction); });
  }
  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    collective("all_gather", bytes_of(output), [&] { group_->all_gather(output, input); });
  }
  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    collective("reduce_scatter", bytes_of(input), [&] { group_->reduce_scatter(output, input); });
  }
  void broadcast(at::Tensor& tensor, int root) override {
    collective("broadcast", bytes_of(tensor), [&] { group_->broadcast(tensor, root); });
  }
  void barrier() override {
    collective("barrier", 0, [&] { group_->barrier(); });
  }
  void finalize() override { group_->finalize(); }

  bool overlaps() const override { return group_->overlaps(); }
  // Of one that goes on alone the time is what the caller waits for it; traces show the whole of it.
  std::unique_ptr<PendingTransfer> start(const Collective& started) override {
    if (!overlaps()) return Communicator::start(started);
    const char* const operation = name_of(started.kind);
    const at::Tensor& whole =
        started.kind == Collective::Kind::ReduceScatter ? started.input : started.output;
    std::unique_ptr<PendingTransfer> transfer;
    collective(operation, bytes_of(whole), [&] { transfer = group_->start(started); });
    return std::make_unique<MeteredTransfer>(std::move(transfer), operation, bytes_of(whole), std::nullopt,
                                             gauge_);
  }

  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override {
    std::unique_ptr<PendingTransfer> transfer;
    gauge_.measure("send", bytes_of(tensor), peer, [&] { transfer = group_->send(tensor, peer, tag); });
    return std::make_unique<MeteredTransfer>(std::move(transfer), "send", bytes_of(tensor), peer, gauge_);
  }
  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override {
    std::unique_ptr<PendingTransfer> transfer;
    gauge_.measure("recv", bytes_of(tensor), peer, [&] { transfer = group_->receive(tensor, peer, tag); });
    return std::make_unique<MeteredTransfer>(std::move(transfer), "recv", bytes_of(tensor), peer, gauge_);
  }

 private:
  template <typename Action>
  void collective(const char* operation, int64_t bytes, Action&& action) {
    gauge_.measure(operation, bytes, std::nullopt, action);
  }

  std::unique_ptr<Communicator> group_;
  Gauge gauge_;
};

}  // namespace

void TransferMeter::add(const std::string& operation, const std::string& axis, int64_t bytes,
                        double seconds) {
  TransferCount& count = counts_[{operation, axis}];
  count.bytes += bytes;
  count.seconds += seconds;
}

std::unique_ptr<Communicator> metered(std::unique_ptr<Communicator> group, std::string axis,
                                      const Instruments& instruments) {
  return std::make_unique<MeteredCommunicator>(std::move(group), std::move(axis), instruments);
}

}  // namespace caravan::trainer
