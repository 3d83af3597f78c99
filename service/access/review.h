// Asks again, while a stream lasts, what was asked when it began: tokens and certificates expire, and rights
// are taken back.
#pragma once

#include "service/access/callers.h"
#include "service/access/rights.h"

namespace caravan::service {

// Whether he who was let in is still known, and may still do this.
Answer<void> review(Callers& callers, Rights& rights, const CallContext& context, const Caller& caller,
                    const Action& action);
// Or nobody could be asked, and a stream goes on with what there is, as one of the API server would.
bool is_final(const Fault& fault);

}  // namespace caravan::service
