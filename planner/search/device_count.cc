#include "planner/search/device_count.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "planner/job_shape.h"
#include "planner/memory/memory_model.h"
#include "planner/search/candidate.h"
#include "planner/search/enumerate.h"
#include "planner/search/legality.h"

namespace caravan::planner {
namespace {

// What the search would not pick is not looked at: it needs more memory than what it would.
class FitSearch {
 public:
  explicit FitSearch(const EngineProfile& profile) : profile_(profile) {}

  // Of one request; as they are, or else with another schedule.
  bool any(const PlanRequest& request, const std::vector<Layout>& layouts) {
    arranged_ = 0;
    const auto as_it_is = [&](const Layout& layout) { return fits(request, layout); };
    const auto otherwise = [&](const Layout& layout) { return fits_with_another_schedule(request, layout); };
    return std::ranges::any_of(layouts, as_it_is) || std::ranges::any_of(layouts, otherwise);
  }

  // How much that was: stages times as many micro-batches, and much more where ops are arranged.
  int64_t looked_at() const { return looked_at_; }
  void count(int64_t looks) { looked_at_ += looks; }

 private:
  bool fits(const PlanRequest& request, const Layout& layout) {
    const int64_t stages = layout.mesh.pipeline;
    const int64_t each = has_fixed_order(layout.schedule) ? layout.segment_count() : kArranging;
    looked_at_ += stages * stages * each;
    return may_be_picked(tier_of(request, layout)) && layout_fits(request, layout, profile_);
  }

  // Where nothing is known about time, the search takes 1F1B.
  bool fits_with_another_schedule(const PlanRequest& request, const Layout& layout) {
    const auto usable = usable_bytes(request.devices, profile_);
    if (!usable || !request.devices.known || request.fixed.schedule || layout.mesh.pipeline == 1)
      return false;
    if (!may_be_picked(tier_of(request, layout)) || find_illegality(request, layout, profile_)) return false;
    const LayoutMemory memory = predict_memory(request, layout, profile_);
    if (least_with_another_schedule(request, layout, memory.terms, profile_) > *usable) return false;
    return std::ranges::any_of(with_other_schedules(request, profile_, layout), [&](const Layout& other) {
      return is_worth_a_look(other.schedule) && fits(request, other);
    });
  }

  // Of those that are arranged VMin needs the least.
  bool is_worth_a_look(ScheduleKind kind) {
    return has_fixed_order(kind) || (kind == ScheduleKind::VMin && ++arranged_ <= kMostArranged);
  }

  static constexpr int64_t kArranging = 256;  // how many times as long a look takes

  const EngineProfile& profile_;
  int arranged_ = 0;
  int64_t looked_at_ = 0;
};

PlanRequest with_devices(PlanRequest request, int count) {
  request.devices.count = count;
  request.devices.per_node = spread(count, request.devices.node_size).ranks_per_node();
  if (const auto machine = request.devices.machine) request.devices.share(*machine);
  return request;
}

std::vector<int64_t> sizes_up_to(std::optional<int> fixed, int64_t maximum) {
  if (fixed) return {*fixed};
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= maximum; ++size) sizes.push_back(size);
  return sizes;
}

// Data parallel sizes among which the global batch can be divided, ascending.
std::vector<int64_t> replica_counts(const PlanRequest& request) {
  if (request.fixed.data) return {*request.fixed.data};
  const int64_t sequences =
      request.training.global_batch_sequences / request.fixed.micro_batch_size.value_or(1);
  std::vector<int64_t> counts;
  for (int64_t count = 1; count <= std::min<int64_t>(sequences, request.devices.maximum()); ++count) {
    if (sequences % count == 0) counts.push_back(count);
  }
  return counts;
}

class DeviceCountSearch {
 public:
  DeviceCountSearch(const PlanRequest& request, const EngineProfile& profile)
      : request_(request), profile_(profile), fit_(profile), replica_counts_(replica_counts(request)) {}

  DeviceCount run() {
    bool everything_tried = try_all_sizes();
    const bool whole_nodes = best_ && *best_ > request_.devices.node_size;
    if (!best_ && everything_tried && !request_.devices.only_whole_nodes) {
      only_whole_nodes_ = false;
      everything_tried = try_all_sizes();
    }
    return {.smallest = best_, .everything_tried = everything_tried, .whole_nodes = whole_nodes};
  }

 private:
  static constexpr int64_t kMostLookedAt = int64_t{1} << 29;  // some seconds
  static constexpr int64_t kJudging = int64_t{1} << 13;       // of the layouts of three sizes

  int widest_tensor() const {
    const DevicePool& devices = request_.devices;
    return std::min(kMaximumTensor, devices.has_rack_switch() ? devices.joined() : devices.node_size);
  }

  bool is_tried(int64_t count) const {
    const int64_t node = request_.devices.node_size;
    return !only_whole_nodes_ || count < node || count % node == 0;
  }

  struct Layouts {
    PlanRequest request;
    std::vector<Layout> layouts;
  };

  Layouts with_sizes(int64_t tensor, int64_t pipeline, int64_t data) const {
    PlanRequest request = with_devices(request_, static_cast<int>(tensor * pipeline * data));
    auto layouts = layouts_of_sizes(request, profile_, static_cast<int>(tensor), static_cast<int>(pipeline),
                                    static_cast<int>(data));
    return {std::move(request), std::move(layouts)};
  }

  bool fits(int64_t tensor, int64_t pipeline, int64_t data) {
    const Layouts of_sizes = with_sizes(tensor, pipeline, data);
    return fit_.any(of_sizes.request, of_sizes.layouts);
  }

  bool is_legal(int64_t tensor, int64_t pipeline, int64_t data) {
    fit_.count(kJudging);
    const Layouts of_sizes = with_sizes(tensor, pipeline, data);
    return std::ranges::any_of(of_sizes.layouts, [&](const Layout& layout) {
      return !find_illegality(of_sizes.request, layout, profile_);
    });
  }

  // False where that would take too long.
  bool try_all_sizes() {
    const int64_t most_stages = std::min<int64_t>(request_.shape.layers, kMostPipelineStages);
    for (const int64_t tensor : sizes_up_to(request_.fixed.tensor, widest_tensor())) {
      for (const int64_t pipeline : sizes_up_to(request_.fixed.pipeline, most_stages)) {
        if (fit_.looked_at() > kMostLookedAt) return false;
        try_sizes(tensor, pipeline);
      }
    }
    return true;
  }

  // Of more replicas each needs less memory, but their micro-batches may be too few for a schedule.
  void try_sizes(int64_t tensor, int64_t pipeline) {
    const int64_t each = tensor * pipeline;
    const auto fits_with = [&](int64_t data) { return fits(tensor, pipeline, data); };
    const auto breaks_a_rule = [&](int64_t data) { return !is_legal(tensor, pipeline, data); };
    std::vector<int64_t> counts;
    for (const int64_t count : replica_counts_) {
      if (each * count < limit() && is_tried(each * count)) counts.push_back(count);
    }
    if (counts.empty()) return;
    // One replica has no buffers for the sum over replicas.
    if (counts.front() == 1 && fits_with(1)) {
      best_ = static_cast<int>(each);
      return;
    }
    if (!fits_with(counts.back()) && !breaks_a_rule(counts.back())) return;
    std::erase_if(counts, breaks_a_rule);
    if (counts.empty() || !fits_with(counts.back())) return;
    best_ = static_cast<int>(each * *std::ranges::partition_point(counts, std::not_fn(fits_with)));
  }

  int64_t limit() const { return best_ ? *best_ : request_.devices.maximum() + 1; }

  const PlanRequest request_;
  const EngineProfile& profile_;
  FitSearch fit_;
  const std::vector<int64_t> replica_counts_;
  bool only_whole_nodes_ = true;
  std::optional<int> best_;
};

}  // namespace

bool anything_fits(const PlanRequest& request, const EngineProfile& profile) {
  auto layouts = enumerate_layouts(request, profile);
  // The most split ones need the least memory.
  std::ranges::reverse(layouts);
  return FitSearch(profile).any(request, layouts);
}

DeviceCount smallest_device_count(const PlanRequest& request, const EngineProfile& profile) {
  PlanRequest open = request;
  // A layout of all sizes grows by replicas.
  if (open.fixed.all_sizes()) open.fixed.data.reset();
  return DeviceCountSearch(open, profile).run();
}

}  // namespace caravan::planner
