#include "worker/trainer/comm/communicator.h"

#include <fmt/format.h>

namespace caravan::trainer {
namespace {

class Done final : public PendingTransfer {
 public:
  void wait() override {}
};

}  // namespace

void call(Communicator& group, const Collective& collective) {
  at::Tensor output = collective.output;
  switch (collective.kind) {
    case Collective::Kind::AllReduce:
      return group.all_reduce(output, Reduction::Sum);
    case Collective::Kind::AllGather:
      return group.all_gather(output, collective.input);
    case Collective::Kind::ReduceScatter:
      return group.reduce_scatter(output, collective.input);
  }
}

void await(std::unique_ptr<PendingTransfer> operation, const std::string& what) {
  if (!operation) return;
  try {
    operation->wait();
  } catch (const CommunicationError& error) {
    throw CommunicationError(fmt::format("waited for {}: {}", what, error.what()));
  }
}

std::unique_ptr<PendingTransfer> Communicator::start(const Collective& collective) {
  call(*this, collective);
  return std::make_unique<Done>();
}

}  // namespace caravan::trainer
