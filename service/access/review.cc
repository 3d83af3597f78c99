#include "service/access/review.h"

namespace caravan::service {

Answer<void> review(Callers& callers, Rights& rights, const CallContext& context, const Caller& caller,
                    const Action& action) {
  const auto known = callers.identify_again(context, caller);
  if (!known) return tl::unexpected(known.error());
  return rights.check(context, *known, action);
}

bool is_final(const Fault& fault) {
  return fault.code == Code::kUnauthenticated || fault.code == Code::kPermissionDenied;
}

}  // namespace caravan::service
