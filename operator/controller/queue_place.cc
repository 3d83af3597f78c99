#include "operator/controller/queue_place.h"

#include <fmt/format.h>

namespace caravan::controller {
namespace {

constexpr std::chrono::seconds kFrontLooksAgain{30};
constexpr std::chrono::minutes kBackLooksAgain{5};
// The places at the front change what a user does next; behind them a job's status is not written each time
// the queue moves.
constexpr int kToldExactly = 10;

}  // namespace

std::string place_in_queue(const QueueView& queue) {
  if (!queue.position) return "";
  const int place = *queue.position + 1;
  if (place <= kToldExactly) return fmt::format("; it is number {} in its queue", place);
  int more_than = kToldExactly;
  while (more_than * 10 < place) more_than *= 10;
  return fmt::format("; more than {} are before it in its queue", more_than);
}

LookAgain when_places_change(const QueueView& queue) {
  if (!queue.has_positions) return queue.positions_may_come ? LookAgain(kBackLooksAgain) : std::nullopt;
  if (queue.position && *queue.position >= kToldExactly) return kBackLooksAgain;
  return kFrontLooksAgain;
}

}  // namespace caravan::controller
