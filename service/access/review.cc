#include "service/access/review.h"

namespace caravan::service {

Answer<void> review(Callers& callers, Rights& rights, const CallContext& context, const Caller& caller,
                    const Action& action) {
  if (caller.token.empty()) return rights.check(context, caller, action);
  const auto known = callers.identify(context, {.token = caller.token});
  if (!known) return tl::unexpected(known.error());
  return rights.check(context, *known, action);
}

bool is_final(const Fault& fault) {
  return fault.code == Code::kUnauthenticated || fault.code == Code::kPermissionDenied;
}

}  // namespace caravan::service
