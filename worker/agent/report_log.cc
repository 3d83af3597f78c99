#include "worker/agent/report_log.h"

#include <spdlog/spdlog.h>

namespace caravan::agent {

void ReportLog::tell(v1alpha1::JobReport report) {
  switch (report.report_case()) {
    case v1alpha1::JobReport::kStep:
      spdlog::debug("attempt {} step {} loss {}", report.step().attempt(), report.step().step(),
                    report.step().loss());
      break;
    case v1alpha1::JobReport::kEvent:
      spdlog::warn("{}: {}", report.event().reason(), report.event().message());
      break;
    case v1alpha1::JobReport::kResult:
      spdlog::info("{} ({}): {}", report.result().result(), report.result().reason(),
                   report.result().message());
      break;
    default:
      break;
  }
  if (next_ != nullptr) next_->tell(std::move(report));
}

}  // namespace caravan::agent
