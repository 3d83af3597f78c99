#include "worker/trainer/comm/gloo/gloo_rendezvous.h"

#include <fmt/format.h>
#include <net/if.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "worker/trainer/comm/direct_exchange.h"

namespace caravan::trainer {
namespace {

using c10d::ProcessGroupGloo;
using Work = c10::intrusive_ptr<c10d::Work>;

// c10d's errors carry a stack trace after the first line.
std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

template <typename Action>
auto guarded(const std::string& what, Action&& action) {
  try {
    return action();
  } catch (const std::exception& error) {
    throw CommunicationError(fmt::format("{}: {}", what, first_line(error)));
  }
}

class GlooTransfer final : public PendingTransfer {
 public:
  GlooTransfer(Work work, std::string what) : work_(std::move(work)), what_(std::move(what)) {}

  void wait() override {
    guarded(what_, [&] { work_->wait(); });
  }

 private:
  Work work_;
  std::string what_;
};

class GlooCommunicator final : public Communicator {
 public:
  GlooCommunicator(c10::intrusive_ptr<ProcessGroupGloo> group, std::string name)
      : group_(std::move(group)), name_(std::move(name)) {}

  int rank() const override { return group_->getRank(); }
  int size() const override { return group_->getSize(); }

  void all_reduce(at::Tensor& tensor, Reduction reduction) override {
    if (reduction == Reduction::Sum) return exchange_all_reduce(*this, tensor);
    std::vector<at::Tensor> tensors{tensor};
    run("all-reduce", [&] { return group_->allreduce(tensors, {.reduceOp = c10d::ReduceOp::MAX}); });
  }

  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    exchange_all_gather(*this, output, input);
  }

  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    exchange_reduce_scatter(*this, output, input);
  }

  void broadcast(at::Tensor& tensor, int root) override {
    std::vector<at::Tensor> tensors{tensor};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    run("broadcast", [&] { return group_->broadcast(tensors, options); });
  }

  void barrier() override {
    run("barrier", [&] { return group_->barrier(); });
  }

  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override {
    std::vector<at::Tensor> tensors{tensor};
    const std::string what = describe(fmt::format("send to rank {} of the group", peer));
    return std::make_unique<GlooTransfer>(guarded(what, [&] { return group_->send(tensors, peer, tag); }),
                                          what);
  }

  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override {
    std::vector<at::Tensor> tensors{tensor};
    const std::string what = describe(fmt::format("receive from rank {} of the group", peer));
    return std::make_unique<GlooTransfer>(guarded(what, [&] { return group_->recv(tensors, peer, tag); }),
                                          what);
  }

 private:
  std::string describe(const std::string& operation) const {
    return fmt::format("{} in group {} (rank {} of {})", operation, name_, rank(), size());
  }

  template <typename Start>
  void run(const char* operation, Start&& start) {
    guarded(describe(operation), [&] { start()->wait(); });
  }

  c10::intrusive_ptr<ProcessGroupGloo> group_;
  std::string name_;
};

c10::intrusive_ptr<c10d::Store> open_store(const RendezvousOptions& options) {
  c10d::TCPStoreOptions store;
  store.port = static_cast<std::uint16_t>(options.port);
  store.isServer = options.rank == 0;
  store.numWorkers = static_cast<std::size_t>(options.world_size);
  store.timeout = options.timeout;
  if (store.isServer && options.listen_fd >= 0) store.masterListenFd = options.listen_fd;
  return guarded(
      fmt::format("rank {}: meeting the other ranks at {}:{}", options.rank, options.address, options.port),
      [&] { return c10::make_intrusive<c10d::TCPStore>(options.address, store); });
}

auto open_device(const std::string& interface) {
  return guarded(fmt::format("binding to the network interface '{}'", interface), [&] {
    if (interface.empty()) return ProcessGroupGloo::createDefaultDevice();
    if (if_nametoindex(interface.c_str()) != 0) return ProcessGroupGloo::createDeviceForInterface(interface);
    return ProcessGroupGloo::createDeviceForHostname(interface);
  });
}

}  // namespace

struct GlooRendezvous::Implementation {
  explicit Implementation(const RendezvousOptions& given)
      : options(given), store(open_store(given)), device(open_device(given.network_interface)) {}

  RendezvousOptions options;
  c10::intrusive_ptr<c10d::Store> store;
  std::shared_ptr<::gloo::transport::Device> device;
};

GlooRendezvous::GlooRendezvous(const RendezvousOptions& options)
    : implementation_(std::make_unique<Implementation>(options)) {}

GlooRendezvous::~GlooRendezvous() = default;

std::unique_ptr<Communicator> GlooRendezvous::form_group(const std::string& name, int rank, int size) {
  const RendezvousOptions& options = implementation_->options;
  auto group_options = ProcessGroupGloo::Options::create(options.timeout);
  group_options->devices.push_back(implementation_->device);
  group_options->threads = 1;
  auto store = c10::make_intrusive<c10d::PrefixStore>(fmt::format("attempt-{}/{}", options.attempt, name),
                                                      implementation_->store);
  auto group = guarded(fmt::format("forming group {} as rank {} of {}", name, rank, size), [&] {
    return c10::make_intrusive<ProcessGroupGloo>(store, rank, size, group_options);
  });
  return std::make_unique<GlooCommunicator>(std::move(group), name);
}

}  // namespace caravan::trainer
