// Which changes of an object are worth a reconcile.
//
// A controller's own status writes come back as changes; to reconcile on those would be a loop. Everything
// that asks for something passes: a new or deleted object (also one that took the place of another of its
// name), a new generation, a started deletion, and changed finalizers, labels or annotations, none of which
// raise the generation.
#pragma once

#include "kube/watch/store.h"

namespace caravan::kube {

bool is_more_than_status(const Change& change);

}  // namespace caravan::kube
