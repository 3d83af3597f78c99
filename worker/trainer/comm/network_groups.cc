#include "worker/trainer/comm/network_groups.h"

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "worker/trainer/comm/gloo/gloo_rendezvous.h"
#include "worker/trainer/comm/shared_memory/shared_memory_communicator.h"

namespace caravan::trainer {
namespace {

bool shares_memory() {
  const char* const wanted = std::getenv("CARAVAN_COMM");
  return wanted == nullptr || std::string_view(wanted) != "gloo";
}

}  // namespace

GroupFactory network_groups(const RendezvousOptions& options) {
  return [options, rendezvous = std::shared_ptr<GlooRendezvous>()](const GroupRequest& request) mutable {
    if (!rendezvous) rendezvous = std::make_shared<GlooRendezvous>(options);
    auto group = rendezvous->form_group(request.name, request.rank, request.size);
    if (!shares_memory()) return group;
    return share_memory(std::move(group),
                        {.name = request.name, .node = options.node, .timeout = options.timeout});
  };
}

}  // namespace caravan::trainer
