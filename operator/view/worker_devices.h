// What follows from a job's worker for its devices, before any plan. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"

namespace caravan::controller {

// Threads of one rank on a CPU: results depend on them, so they come from the job alone.
int threads_per_rank(const v1alpha1::JobSpec& spec, int ranks_per_pod);

// A rank's part of the memory that its pod asks for; nothing where the job does not say how much.
std::optional<std::int64_t> memory_per_rank(const v1alpha1::JobSpec& spec, int ranks_per_pod);

// Whether a claim brings the devices that the ranks run on, so that no extended resource is asked for.
bool has_claimed_devices(const v1alpha1::Worker& worker);

// What the product's label (api/device_labels.h) says on nodes that have the GPUs which the job names,
// whether there are such nodes yet or not. Empty: the catalogue knows no such product, or the job says itself
// what the label must be, or a claim does.
std::vector<std::string> wanted_products(const v1alpha1::JobSpec& spec);

}  // namespace caravan::controller
