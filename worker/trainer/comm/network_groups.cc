#include "worker/trainer/comm/network_groups.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "worker/trainer/comm/background_group.h"
#include "worker/trainer/comm/gloo/gloo_rendezvous.h"
#include "worker/trainer/comm/overlap_wish.h"
#include "worker/trainer/comm/shared_memory/shared_memory_communicator.h"

namespace caravan::trainer {
namespace {

std::optional<std::string_view> wanted_transport() {
  const char* const wanted = std::getenv("CARAVAN_COMM");
  const bool says_something = wanted != nullptr && *wanted != '\0';
  return says_something ? std::optional<std::string_view>(wanted) : std::nullopt;
}

Result<bool> shares_memory() {
  const auto wanted = wanted_transport();
  if (!wanted) return true;
  if (*wanted == "gloo") return false;
  return bad_input(fmt::format(
      "CARAVAN_COMM is '{}': take gloo, or fake for a dry run of one rank, or leave it out", *wanted));
}

}  // namespace

bool wants_dry_run() {
  return wanted_transport() == "fake";
}

Result<GroupFactory> network_groups(const RendezvousOptions& options) {
  const Result<bool> may_share = shares_memory();
  if (!may_share) return tl::unexpected(may_share.error());
  const Result<bool> may_overlap = wants_overlap(/*otherwise=*/false);
  if (!may_overlap) return tl::unexpected(may_overlap.error());
  return [options, shares = *may_share, overlap = *may_overlap,
          rendezvous = std::shared_ptr<GlooRendezvous>()](const GroupRequest& request) mutable {
    if (!rendezvous) rendezvous = std::make_shared<GlooRendezvous>(options);
    auto group = rendezvous->form_group(request.name, request.rank, request.size);
    if (shares)
      group = share_memory(std::move(group),
                           {.name = request.name, .node = options.node, .timeout = options.timeout});
    const bool has_collectives_to_start = request.axis == axis_name(planner::Axis::Data);
    return overlap && has_collectives_to_start ? in_background(std::move(group)) : std::move(group);
  };
}

}  // namespace caravan::trainer
