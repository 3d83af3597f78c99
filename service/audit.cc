#include "service/audit.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "common/json.h"
#include "common/rpc_status.h"
#include "common/utf8.h"
#include "kube/api/timestamp.h"

namespace caravan::service {
namespace {

constexpr std::size_t kLongestText = 256;  // callers choose it

const char* proof_of(const Caller& caller) {
  if (caller.user.empty()) return "nothing";
  return caller.token.empty() ? "certificate" : "token";
}

// Without its end, so that more may follow.
std::string line_of(const std::string& time, const Call& call, const AuditedCall& audited,
                    const Fault* fault) {
  std::string line = fmt::format(
      R"({{"audit":{},"time":{},"user":{},"by":"{}","host":{},"resource":{},"outcome":{})",
      json_string(audited.method), json_string(time), json_string(call.caller.user), proof_of(call.caller),
      json_string(call.host), json_string(readable(audited.resource, kLongestText)),
      json_string(rpc_code_name(fault == nullptr ? 0 : static_cast<int>(fault->code))));
  if (!audited.request_id.empty())
    line += fmt::format(R"(,"requestId":{})", json_string(readable(audited.request_id, kLongestText)));
  if (audited.dry_run) line += R"(,"dryRun":true)";
  if (fault != nullptr) line += fmt::format(R"(,"reason":{})", json_string(fault->reason));
  return line;
}

}  // namespace

void Audit::method_ended(const Call& call, const AuditedCall& audited, const Fault* fault) {
  const std::string line = line_of(kube::to_timestamp(clock_.wall_now()), call, audited, fault);
  const std::scoped_lock lock(mutex_);
  write_(line + "}");
}

void Audit::refused_at_the_gate(const Call& call, const AuditedCall& audited, const Fault& fault) {
  const std::scoped_lock lock(mutex_);
  if (!refusals_.try_take(clock_.now())) {
    ++left_out_;
    return;
  }
  std::string line = line_of(kube::to_timestamp(clock_.wall_now()), call, audited, &fault);
  if (left_out_ > 0) line += fmt::format(R"(,"refusalsLeftOut":{})", std::exchange(left_out_, 0));
  write_(line + "}");
}

void write_to_standard_output(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace caravan::service
