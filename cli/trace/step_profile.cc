#include "cli/trace/step_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>

#include "cli/trace/event_times.h"

namespace caravan::cli {
namespace {

using v1alpha1::ProfilePart;
using v1alpha1::RankTrace;
using v1alpha1::StepProfile;
using v1alpha1::TraceEvent;

// The parts in the order in which they are shown.
enum class Sort { Products, Attention, Kernel, Communication, Waiting, Phase, Rest };

struct PartKey {
  Sort sort = Sort::Rest;
  std::string name = "rest";

  auto operator<=>(const PartKey&) const = default;
};

enum class Within { Forward, Backward, Neither };

struct Place {
  PartKey part;
  Within within = Within::Neither;
};

struct Times {
  int64_t all = 0;  // nanoseconds, of all ranks together
  int64_t forward = 0;
  int64_t backward = 0;
};

const std::map<std::string, std::string>& named_phases() {
  static const std::map<std::string, std::string> names = {{"data", "data"},
                                                           {"optimizer", "optimizer update"},
                                                           {"evaluation", "evaluation"},
                                                           {"checkpoint", "checkpoint hand-over"}};
  return names;
}

PartKey part_of_phase(const TraceEvent& event, const PartKey& around) {
  const auto named = named_phases().find(event.name());
  return named == named_phases().end() ? around : PartKey{Sort::Phase, named->second};
}

PartKey part_of_kernel(Sort sort, const std::string& name, const PartKey& around) {
  return around.sort == Sort::Phase ? around : PartKey{sort, name};
}

PartKey waiting() {
  return {Sort::Waiting, "waiting for other stages"};
}

// A message goes while the rank computes, until the rank waits for its end, which moves no bytes itself.
PartKey part_of_communication(const TraceEvent& event) {
  const v1alpha1::TraceArguments& args = event.args();
  if (args.has_peer() && args.bytes() == 0) return waiting();
  return {Sort::Communication, fmt::format("{} {}", args.axis(), event.name())};
}

Place place_of(const TraceEvent& event, const Place& around) {
  switch (event.cat()) {
    case TraceEvent::forward:
      return {.part = {}, .within = Within::Forward};
    case TraceEvent::backward:
    case TraceEvent::backward_input:
    case TraceEvent::backward_weight:
      return {.part = {}, .within = Within::Backward};
    case TraceEvent::wait:
      return {.part = waiting()};
    case TraceEvent::phase:
      return {.part = part_of_phase(event, around.part), .within = around.within};
    case TraceEvent::product:
      return {.part = part_of_kernel(Sort::Products, "matrix products", around.part),
              .within = around.within};
    case TraceEvent::attention:
      return {.part = part_of_kernel(Sort::Attention, "attention", around.part), .within = around.within};
    case TraceEvent::kernel:
      return {.part = part_of_kernel(Sort::Kernel, event.name(), around.part), .within = around.within};
    case TraceEvent::communication:
      return {.part = part_of_communication(event), .within = around.within};
    default:
      return {};
  }
}

class Sums {
 public:
  // What the step of the rank took, to the parts.
  Status add(const RankTrace& trace) {
    std::vector<Open> open;
    for (int i = 0; i < trace.trace_events_size(); ++i) {
      const TraceEvent& event = trace.trace_events(i);
      if (event.ph() != "X" || event.tid() != trace.other_data().rank()) continue;
      const TimedEvent times = times_of(event);
      while (!open.empty() && open.back().end <= times.begin) open.pop_back();
      if (open.empty() && event.cat() != TraceEvent::step) continue;
      if (!open.empty() && open.back().end < times.end)
        return bad_input(fmt::format("traceEvents[{}]: it ends behind what it began in", i));
      const Place place = place_of(event, open.empty() ? Place{} : open.back().place);
      charge(place, times.end - times.begin);
      if (open.empty()) {
        step_ += times.end - times.begin;
      } else {
        charge(open.back().place, times.begin - times.end);
      }
      open.push_back({.place = place, .end = times.end});
    }
    return {};
  }

  int64_t step() const { return step_; }

  // In the order in which they are shown.
  std::vector<std::pair<PartKey, Times>> parts() const {
    std::vector<std::pair<PartKey, Times>> parts(parts_.begin(), parts_.end());
    std::ranges::stable_sort(parts, {},
                             [](const auto& part) { return std::tuple(part.first.sort, -part.second.all); });
    return parts;
  }

 private:
  struct Open {
    Place place;
    int64_t end = 0;
  };

  void charge(const Place& place, int64_t nanoseconds) {
    Times& times = parts_[place.part];
    times.all += nanoseconds;
    if (place.within == Within::Forward) times.forward += nanoseconds;
    if (place.within == Within::Backward) times.backward += nanoseconds;
  }

  std::map<PartKey, Times> parts_;
  int64_t step_ = 0;
};

// A difference of what rounds may be next to nothing.
std::string milliseconds(double seconds) {
  constexpr double kNothing = kSecondsPerNanosecond / 1000;
  return std::abs(seconds) < kNothing ? "-" : fmt::format("{:.2f}", 1000 * seconds);
}

std::string row(const ProfilePart& part, double all, std::size_t name_width) {
  return fmt::format("{:<{}} {:>11} {:>7.1f} % {:>11} {:>11} {:>11}\n", part.name(), name_width,
                     milliseconds(part.seconds()), 100 * part.seconds() / all,
                     milliseconds(part.forward_seconds()), milliseconds(part.backward_seconds()),
                     milliseconds(part.seconds() - part.forward_seconds() - part.backward_seconds()));
}

}  // namespace

Result<StepProfile> profile_of(const std::vector<RankTrace>& traces) {
  Sums sums;
  StepProfile profile;
  for (const RankTrace& trace : traces) {
    const int64_t before = sums.step();
    const auto of_rank = [&](const std::string& what) {
      return bad_input(fmt::format("the trace of rank {}: {}", trace.other_data().rank(), what));
    };
    if (Status added = sums.add(trace); !added) return of_rank(added.error().message);
    if (sums.step() == before) return of_rank("there is no step in it");
    profile.set_dropped_events(profile.dropped_events() + trace.dropped_events());
  }
  if (traces.empty()) return bad_input("there are no traces");
  const double unit = kSecondsPerNanosecond / static_cast<double>(traces.size());
  const auto mean = [unit](int64_t nanoseconds) { return static_cast<double>(nanoseconds) * unit; };
  profile.set_job_name(traces.front().other_data().job_name());
  profile.set_step(traces.front().other_data().step());
  profile.set_ranks(static_cast<int>(traces.size()));
  profile.set_seconds(mean(sums.step()));
  for (const auto& [key, times] : sums.parts()) {
    ProfilePart& part = *profile.add_parts();
    part.set_name(key.name);
    part.set_seconds(mean(times.all));
    part.set_forward_seconds(mean(times.forward));
    part.set_backward_seconds(mean(times.backward));
  }
  return profile;
}

std::string profile_text(const StepProfile& profile) {
  std::size_t width = 0;
  for (const ProfilePart& part : profile.parts()) width = std::max(width, part.name().size());
  std::string text =
      fmt::format("{}: step {} took {:.2f} ms", profile.job_name(), profile.step(), 1000 * profile.seconds());
  text += profile.ranks() > 1 ? fmt::format(", mean of {} ranks\n\n", profile.ranks()) : "\n\n";
  text += fmt::format("{:<{}} {:>11} {:>9} {:>11} {:>11} {:>11}\n", "", width, "ms", "share", "forward",
                      "backward", "elsewhere");
  for (const ProfilePart& part : profile.parts()) text += row(part, profile.seconds(), width);
  if (profile.dropped_events() > 0)
    text += fmt::format("\n{} events were more than ranks note; their time is that of what is around them\n",
                        profile.dropped_events());
  return text;
}

}  // namespace caravan::cli
