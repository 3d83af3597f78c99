// What the service itself writes into the jobs that it creates, and how long annotations are that it shows.
#pragma once

#include <cstddef>

namespace caravan::service {

// A label: the request_id of the call that created the job.
inline constexpr char kRequestLabel[] = "training.caravan.dev/request";
// An annotation: by whom, for display only, since users may change it.
inline constexpr char kCreatedBy[] = "training.caravan.dev/created-by";
// Of an annotation that is shown, in bytes. Larger ones are other programs' own, such as what kubectl applied
// last; every replica holds every job.
inline constexpr std::size_t kLongestAnnotation = 1024;

}  // namespace caravan::service
