#include "worker/trainer/comm/gloo/gloo_rendezvous.h"

#include <fmt/format.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "worker/trainer/comm/c10d_errors.h"
#include "worker/trainer/comm/direct_exchange.h"
#include "worker/trainer/comm/rank_store.h"

namespace caravan::trainer {
namespace {

using c10d::ProcessGroupGloo;
using Work = c10::intrusive_ptr<c10d::Work>;

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

// Threads that are started meanwhile displace no thread that runs when they wake up: they take their turn
// when it waits, or its time is over.
class PatientThreads {
 public:
  PatientThreads() {
    is_set_ = pthread_getschedparam(pthread_self(), &policy_, &parameters_) == 0 && policy_ == SCHED_OTHER &&
              pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameters_) == 0;
  }
  ~PatientThreads() {
    if (is_set_) pthread_setschedparam(pthread_self(), policy_, &parameters_);
  }
  PatientThreads(const PatientThreads&) = delete;
  PatientThreads& operator=(const PatientThreads&) = delete;

 private:
  int policy_ = SCHED_OTHER;
  sched_param parameters_{};
  bool is_set_ = false;
};

// The device's thread spins while another one holds the connection that it has news of. Where ranks have no
// processors to spare it has displaced just that one, most often, and would spin for the rest of its time.
auto open_device(const std::string& interface) {
  const PatientThreads of_the_device;
  return guarded(fmt::format("binding to the network interface '{}'", interface), [&] {
    if (interface.empty()) return ProcessGroupGloo::createDefaultDevice();
    if (if_nametoindex(interface.c_str()) != 0) return ProcessGroupGloo::createDeviceForInterface(interface);
    return ProcessGroupGloo::createDeviceForHostname(interface);
  });
}

}  // namespace

struct GlooRendezvous::Implementation {
  explicit Implementation(const RendezvousOptions& given)
      : options(given), store(meet_in_store(given)), device(open_device(given.network_interface)) {}

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
  auto store = c10::make_intrusive<c10d::PrefixStore>(name, implementation_->store);
  auto group = guarded(fmt::format("forming group {} as rank {} of {}", name, rank, size), [&] {
    return c10::make_intrusive<ProcessGroupGloo>(store, rank, size, group_options);
  });
  return std::make_unique<GlooCommunicator>(std::move(group), name);
}

}  // namespace caravan::trainer
