#include "worker/trainer/comm/nccl/nccl_groups.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "worker/trainer/comm/c10d_errors.h"
#include "worker/trainer/comm/nccl/nccl_streams.h"
#include "worker/trainer/comm/nccl/notice_board.h"
#include "worker/trainer/comm/nccl/socket_interface.h"
#include "worker/trainer/comm/nccl/stream_communicator.h"
#include "worker/trainer/comm/nccl/watchdog.h"
#include "worker/trainer/comm/rank_store.h"

namespace caravan::trainer {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::seconds kGrace{10};

c10::intrusive_ptr<c10d::Store> connect(const RendezvousOptions& options) {
  return c10::make_intrusive<c10d::PrefixStore>("nccl", connect_to_store(options));
}

class StoreBoard final : public NoticeBoard {
 public:
  explicit StoreBoard(c10::intrusive_ptr<c10d::Store> store) : store_(std::move(store)) {}

  void put(const std::string& key, const std::string& text) override {
    guarded("writing to it", [&] { store_->set(key, text); });
  }
  std::optional<std::string> find(const std::string& key) override {
    return guarded("reading from it", [&]() -> std::optional<std::string> {
      if (!store_->check({key})) return std::nullopt;
      return store_->get_to_str(key);
    });
  }

 private:
  const c10::intrusive_ptr<c10d::Store> store_;
};

// Unless the thread is stopped before.
std::jthread after(std::chrono::seconds time, std::function<void()> action) {
  return std::jthread([time, action = std::move(action)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any bell;
    std::unique_lock lock(mutex);
    if (!bell.wait_for(lock, stop, time, [&] { return stop.stop_requested(); })) action();
  });
}

class NcclGroups {
 public:
  explicit NcclGroups(const NcclOptions& options) : options_(options) {}

  std::unique_ptr<Communicator> form(const GroupRequest& request) {
    std::unique_ptr<Communicator> host =
        options_.hosts(request);  // the first rank serves the store from the first on
    if (!watch_) watch_ = std::make_unique<Watch>(options_);
    const bool has_ways = request.axis == "pipeline";
    const NcclStreamsOptions streams{
        .name = request.name,
        .rank = request.rank,
        .size = request.size,
        .device = options_.device,
        .timeout = options_.rendezvous.timeout,
        .ways = has_ways ? options_.rendezvous.ways : std::vector<NeighbourWay>()};
    return stream_communicator({.name = request.name,
                                .host = std::move(host),
                                .device = nccl_streams(streams, watch_->store),
                                .ways = streams.ways,
                                .is_on_device = [](const at::Tensor& tensor) { return tensor.is_cuda(); },
                                .overlaps = options_.overlaps},
                               watch_->watchdog);
  }

 private:
  struct Watch {
    explicit Watch(const NcclOptions& options)
        : store(connect(options.rendezvous)),
          board(connect(options.rendezvous)),
          watchdog({.rank = options.rendezvous.rank, .timeout = options.rendezvous.timeout}, board,
                   [this, give_up = options.give_up](const std::string& why) {
                     if (give_up) giving_up = after(kGrace, [give_up, why] { give_up(why); });
                   }) {
      watchdog.start(kLookEvery);
    }

    c10::intrusive_ptr<c10d::Store> store;
    StoreBoard board;
    std::jthread giving_up;
    Watchdog watchdog;
  };

  const NcclOptions options_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace

void prepare_environment_for_nccl() {
  const auto choose = [](const char* name, const char* value) { setenv(name, value, /*overwrite=*/0); };
  choose("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0");
  choose("TORCH_NCCL_ENABLE_MONITORING", "0");
  choose("TORCH_NCCL_DUMP_ON_TIMEOUT", "0");
  // An exception of the watchdog's thread would end the process before the trainer says why.
  choose("TORCH_NCCL_RETHROW_CUDA_ERRORS", "0");
  choose("TORCH_FR_BUFFER_SIZE", "0");  // as many events as a run has would be kept otherwise
  // Lanes that share a queue of the device wait for each other.
  choose("CUDA_DEVICE_MAX_CONNECTIONS", "32");
}

GroupFactory nccl_groups(const NcclOptions& options) {
  choose_interface_for_nccl(options.rendezvous.network_interface);
  return [groups = std::make_shared<NcclGroups>(options)](const GroupRequest& request) {
    return groups->form(request);
  };
}

}  // namespace caravan::trainer
