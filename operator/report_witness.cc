#include "operator/report_witness.h"

#include "serving/log.h"

namespace caravan::controller {

void ReportWitness::on_handled(const std::string& code, std::chrono::nanoseconds took) {
  metrics_.on_reports_handled(code, took);
}

void ReportWitness::on_admitted(const Reporter& reporter) {
  if (may_log()) log_job(spdlog::level::info, reporter.job, "the coordinator reports");
}

void ReportWitness::on_refused(const Reporter& reporter, const std::string& why) {
  metrics_.on_report_refused();
  if (may_log())
    log_job(spdlog::level::warn, reporter.job, "a report of the coordinator is not taken: " + why);
}

void ReportWitness::on_held_up() {
  metrics_.on_reports_held_up();
}

void ReportWitness::on_warning(const std::string& message) {
  if (may_log()) log_line(spdlog::level::warn, message);
}

bool ReportWitness::may_log() {
  const std::scoped_lock lock(mutex_);
  return pace_.try_take(clock_.now());
}

}  // namespace caravan::controller
