#include "worker/trainer/comm/network_groups.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "worker/trainer/comm/gloo/gloo_rendezvous.h"
#include "worker/trainer/comm/shared_memory/shared_memory_communicator.h"

namespace caravan::trainer {
namespace {

bool shares_memory() {
  const char* const wanted = std::getenv("CARAVAN_COMM");
  if (wanted == nullptr) return true;
  if (std::string_view(wanted) == "gloo") return false;
  throw std::runtime_error(fmt::format("CARAVAN_COMM is '{}': take gloo, or leave it out", wanted));
}

}  // namespace

GroupFactory network_groups(const RendezvousOptions& options) {
  return [options, shares = shares_memory(),
          rendezvous = std::shared_ptr<GlooRendezvous>()](const GroupRequest& request) mutable {
    if (!rendezvous) rendezvous = std::make_shared<GlooRendezvous>(options);
    auto group = rendezvous->form_group(request.name, request.rank, request.size);
    if (!shares) return group;
    return share_memory(std::move(group),
                        {.name = request.name, .node = options.node, .timeout = options.timeout});
  };
}

}  // namespace caravan::trainer
