#include "kube/client/retry.h"

#include "kube/client/backoff.h"

namespace caravan::kube {
namespace {

bool passes_by_itself(const ApiError& error, Repeatable repeatable) {
  switch (error.kind) {
    case ErrorKind::kUnreachable:
      return true;
    case ErrorKind::kBroken:
      return repeatable == Repeatable::kYes;
    case ErrorKind::kStatus:
      break;
    default:
      return false;
  }
  if (error.code == 429) return true;
  if (error.code >= 500 && error.retry_after) return true;
  if (error.is_too_large_version()) return false;
  return repeatable == Repeatable::kYes && (error.code == 503 || error.code == 504);
}

}  // namespace

std::optional<std::chrono::milliseconds> wait_before_retry(const RetryPolicy& policy, const ApiError& error,
                                                           Repeatable repeatable, int tries, double random) {
  if (tries >= policy.tries || !passes_by_itself(error, repeatable)) return std::nullopt;
  if (error.retry_after) return error.retry_after;
  return jittered(exponential(policy.first, policy.longest, tries), random);
}

}  // namespace caravan::kube
