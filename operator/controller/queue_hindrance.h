// Why a job cannot stand in a queue at all, and what somebody has to do about it. Pure.
#pragma once

#include <optional>
#include <string>

#include "operator/controller/snapshot.h"

namespace caravan::controller {

struct QueueHindrance {
  std::string reason;  // of the condition QuotaReserved
  std::string message;
};

// Kueue is not there, or not ours to use.
std::optional<QueueHindrance> hindrance_of_cluster(const QueueView& queue);
// The job names no queue, or a priority that is not there.
std::optional<QueueHindrance> hindrance_of_job(const Job& job, const QueueView& queue);

}  // namespace caravan::controller
