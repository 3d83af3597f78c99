#include "worker/agent/pinning.h"

#include <fmt/format.h>

#include "common/processors.h"
#include "common/quantity.h"
#include "planner/job_shape.h"

namespace caravan::agent {
namespace {

int ranks_of(const v1alpha1::JobPlan& job, int node) {
  const planner::JobShape shape = planner::shape_of(job);
  return shape.last_rank(node) - shape.first_rank(node) + 1;
}

// A kubelet gives a pod as many processors as it asks for, and no others, where they are its own.
bool are_the_pods_own(const v1alpha1::JobSpec& spec, const std::vector<int>& processors) {
  const Result<std::int64_t> asked = parse_milli_quantity(spec.worker().resources().cpu());
  return asked && *asked == 1000 * static_cast<std::int64_t>(processors.size());
}

}  // namespace

std::vector<std::vector<int>> processors_of_ranks(const v1alpha1::JobPlan& job, const AgentOptions& options,
                                                  const std::vector<int>& allowed) {
  if (job.spec().resources().device().kind() != v1alpha1::Device::CPU) return {};
  std::vector<int> own = options.processors;
  if (options.in_pod && are_the_pods_own(job.spec(), allowed)) own = allowed;
  const int ranks = ranks_of(job, options.node);
  if (own.size() < static_cast<std::size_t>(ranks) * static_cast<std::size_t>(options.threads)) return {};
  return share_out(own, ranks);
}

std::string shortage_of_processors(const v1alpha1::JobPlan& job, const AgentOptions& options, int usable) {
  const int ranks = ranks_of(job, options.node);
  const bool is_on_processors = job.spec().resources().device().kind() == v1alpha1::Device::CPU;
  if (!options.in_pod || !is_on_processors || ranks * options.threads <= usable) return "";
  return fmt::format(
      "steps will take longer than planned: the ranks of this pod have {} threads, and its limit or its "
      "machine leaves them {} processors; raise the limit (a LimitRange may set it), or lower "
      "spec.worker.resources.cpu",
      ranks * options.threads, usable);
}

}  // namespace caravan::agent
