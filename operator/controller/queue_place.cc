#include "operator/controller/queue_place.h"

#include <fmt/format.h>

namespace caravan::controller {
namespace {

constexpr std::chrono::seconds kFrontLooksAgain{30};
constexpr std::chrono::minutes kBackLooksAgain{5};
// The places at the front change what a user does next; behind them a job's status is not written each time
// the queue moves.
constexpr int kToldExactly = 10;

// "; it is number 3 in its queue"; empty where that is not known.
std::string place_in_queue(const QueueView& queue) {
  if (!queue.position) return "";
  const int place = *queue.position + 1;
  if (place <= kToldExactly) return fmt::format("; it is number {} in its queue", place);
  int more_than = kToldExactly;
  while (more_than * 10 < place) more_than *= 10;
  return fmt::format("; more than {} are before it in its queue", more_than);
}

}  // namespace

std::string say_place(const QueueView& queue, const WorkloadView& workload) {
  const bool is_judged = workload.condition(workload::kQuotaReserved) != nullptr;
  const bool is_reserved = workload.is_true(workload::kQuotaReserved);
  std::string message = is_judged
                            ? workload.message_of(workload::kQuotaReserved)
                            : fmt::format("workload {} waits in queue {}", workload.name, workload.queue);
  if (!workload.active)
    message = fmt::format("workload {} is deactivated and waits for spec.active to become true: {}",
                          workload.name, workload.message_of(workload::kEvicted));
  if ((is_reserved || !workload.active) && !workload.check_waited_for.empty())
    message += "; " + workload.check_waited_for;
  return is_reserved ? message : message + place_in_queue(queue);
}

LookAgain when_places_change(const QueueView& queue) {
  if (!queue.has_positions) return queue.positions_may_come ? LookAgain(kBackLooksAgain) : std::nullopt;
  if (queue.position && *queue.position >= kToldExactly) return kBackLooksAgain;
  return kFrontLooksAgain;
}

}  // namespace caravan::controller
