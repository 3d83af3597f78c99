#include "worker/trainer/comm/rank_store.h"

#include <fmt/format.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "worker/trainer/comm/c10d_errors.h"

namespace caravan::trainer {
namespace {

c10::intrusive_ptr<c10d::Store> open(const char* what, const RendezvousOptions& options,
                                     c10d::TCPStoreOptions store) {
  store.port = static_cast<std::uint16_t>(options.port);
  store.timeout = options.timeout;
  return guarded(fmt::format("rank {}: {} at {}:{}", options.rank, what, options.address, options.port), [&] {
    return c10::make_intrusive<c10d::PrefixStore>(
        fmt::format("attempt-{}", options.attempt),
        c10::make_intrusive<c10d::TCPStore>(options.address, store));
  });
}

}  // namespace

c10::intrusive_ptr<c10d::Store> meet_in_store(const RendezvousOptions& options) {
  c10d::TCPStoreOptions store;
  store.isServer = options.rank == 0;
  store.numWorkers = static_cast<std::size_t>(options.world_size);
  if (store.isServer && options.listen_fd >= 0) store.masterListenFd = options.listen_fd;
  return open("meeting the other ranks", options, store);
}

c10::intrusive_ptr<c10d::Store> connect_to_store(const RendezvousOptions& options) {
  c10d::TCPStoreOptions store;
  store.waitWorkers = false;
  return open("the store of the ranks", options, store);
}

}  // namespace caravan::trainer
