#include "service/audit.h"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>

#include "common/json.h"
#include "common/rpc_status.h"
#include "common/utf8.h"

namespace caravan::service {
namespace {

constexpr std::size_t kLongestText = 256;  // callers choose it

}  // namespace

std::string audit_line(const std::string& time, const Caller& caller, const AuditedCall& call,
                       const Fault* fault) {
  std::string line = fmt::format(
      R"({{"audit":{},"time":{},"user":{},"by":{},"resource":{},"outcome":{})", json_string(call.method),
      json_string(time), json_string(caller.user), caller.token.empty() ? R"("certificate")" : R"("token")",
      json_string(readable(call.resource, kLongestText)),
      json_string(rpc_code_name(fault == nullptr ? 0 : static_cast<int>(fault->code))));
  if (!call.request_id.empty())
    line += fmt::format(R"(,"requestId":{})", json_string(readable(call.request_id, kLongestText)));
  if (call.dry_run) line += R"(,"dryRun":true)";
  if (fault != nullptr) line += fmt::format(R"(,"reason":{})", json_string(fault->reason));
  return line + "}";
}

void write_audit(const std::string& line) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace caravan::service
