// What the service itself writes into the jobs that it creates.
#pragma once

namespace caravan::service {

// A label: the request_id of the call that created the job.
inline constexpr char kRequestLabel[] = "training.caravan.dev/request";
// An annotation: by whom, for display only, since users may change it.
inline constexpr char kCreatedBy[] = "training.caravan.dev/created-by";

}  // namespace caravan::service
