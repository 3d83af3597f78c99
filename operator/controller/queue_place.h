// Where a job stands in its queue, as far as its status tells. Pure.
#pragma once

#include <string>

#include "operator/controller/look_again.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

// "; it is number 3 in its queue", or nothing where that is not known.
std::string place_in_queue(const QueueView& queue);

LookAgain when_places_change(const QueueView& queue);

}  // namespace caravan::controller
