// Groups of ranks that are threads of one process, whose tensors of fp32 and bf16 go over streams that
// threads play, as they would on devices; all others go over the host.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/comm/nccl/stream_communicator.h"
#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/comm/testing/memory_board.h"
#include "worker/trainer/comm/testing/threaded_streams.h"

namespace caravan::trainer {

// Outlives all groups.
class StreamedGroups {
 public:
  // For one rank, which asks on a thread of its own. The watchdog outlives its groups. ways: along the
  // pipeline.
  GroupFactory factory(Watchdog& watchdog, const std::vector<NeighbourWay>& ways) {
    return [this, &watchdog, ways](const GroupRequest& request) {
      auto [host, device] = places_of(request);
      const bool has_ways = request.axis == "pipeline";
      return stream_communicator({.name = request.name,
                                  .host = std::move(host),
                                  .device = std::make_shared<ThreadedStreams>(std::move(device)),
                                  .ways = has_ways ? ways : std::vector<NeighbourWay>(),
                                  .is_on_device =
                                      [](const at::Tensor& tensor) {
                                        return tensor.scalar_type() == at::kFloat ||
                                               tensor.scalar_type() == at::kBFloat16;
                                      }},
                                 watchdog);
    };
  }

  MemoryBoard board;

 private:
  using Place = std::unique_ptr<Communicator>;

  std::pair<Place, Place> places_of(const GroupRequest& request) {
    const std::scoped_lock lock(mutex_);
    auto& [hosts, devices] = members_[request.name];
    if (hosts.empty()) {
      hosts = make_fake_group(request.size);
      devices = make_fake_group(request.size);
    }
    const auto rank = static_cast<std::size_t>(request.rank);
    return {std::move(hosts[rank]), std::move(devices[rank])};
  }

  std::mutex mutex_;
  std::map<std::string, std::pair<std::vector<Place>, std::vector<Place>>> members_;
};

}  // namespace caravan::trainer
