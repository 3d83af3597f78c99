#include "cli/cluster/job_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/readable_duration.h"
#include "planner/explain/table.h"

namespace caravan::cli {
namespace {

using controller::Job;
using controller::TimePoint;
using planner::Align;
using planner::Column;

std::string number(bool known, int value) {
  return known ? std::to_string(value) : "";
}

std::vector<Column> columns_of(const TableLook& look) {
  std::vector<Column> columns;
  if (look.with_namespace) columns.push_back({.title = "NAMESPACE"});
  for (const char* title : {"NAME", "STATE", "LAYOUT"}) columns.push_back({.title = title});
  columns.push_back({.title = "PROGRESS", .align = Align::Right});
  columns.push_back({.title = "MFU", .align = Align::Right});
  if (look.wide) {
    for (const char* title : {"STEP", "LOSS", "TOKENS/S", "MEMORY", "CHECKPOINT", "LEFT"})
      columns.push_back({.title = title, .align = Align::Right});
  }
  columns.push_back({.title = "RESTARTS", .align = Align::Right});
  columns.push_back({.title = "AGE", .align = Align::Right});
  return columns;
}

void add_wide_cells(const v1alpha1::JobStatus& status, std::vector<std::string>& row) {
  const v1alpha1::ProgressStatus& progress = status.progress();
  row.push_back(progress.has_step() ? fmt::format("{}/{}", progress.step(), progress.steps()) : "");
  row.push_back(progress.loss());
  row.push_back(progress.tokens_per_second());
  row.push_back(against(progress.peak_memory_per_device(), status.predicted().memory_per_device()));
  row.push_back(number(status.last_checkpoint().has_step(), status.last_checkpoint().step()));
  row.push_back(progress.has_estimated_remaining_seconds()
                    ? readable_duration(progress.estimated_remaining_seconds())
                    : "");
}

std::vector<std::string> row_of(const Job& job, const TableLook& look) {
  const v1alpha1::JobStatus& status = job.status;
  std::vector<std::string> row;
  if (look.with_namespace) row.push_back(job.key.name_space);
  row.push_back(job.key.name);
  row.push_back(job.being_deleted ? "Deleting" : status.state().empty() ? "Unseen" : status.state());
  row.push_back(status.layout());
  row.push_back(status.progress().has_percent() ? fmt::format("{} %", status.progress().percent()) : "");
  row.push_back(against(percent_text(status.progress().mfu_percent()), status.predicted().mfu_percent()));
  if (look.wide) add_wide_cells(status, row);
  row.push_back(number(status.has_restarts(), status.restarts()));
  row.push_back(age_text(job.created_at, look.now));
  return row;
}

}  // namespace

std::string job_table(const std::vector<Job>& jobs, const TableLook& look) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(jobs.size());
  for (const Job& job : jobs) rows.push_back(row_of(job, look));
  return planner::format_table(columns_of(look), rows, look.width);
}

std::string age_text(TimePoint since, TimePoint now) {
  if (since == TimePoint{}) return "";
  const long seconds =
      std::max(0L, static_cast<long>(std::chrono::duration_cast<std::chrono::seconds>(now - since).count()));
  if (seconds < 60) return fmt::format("{}s", seconds);
  return readable_duration(static_cast<double>(seconds));
}

std::string age_text(const std::string& since, TimePoint now) {
  const auto time = controller::to_time(since);
  return time ? age_text(*time, now) : "";
}

std::string percent_text(const std::string& figure) {
  return figure.empty() || figure == "-" ? "" : figure + " %";
}

std::string against(const std::string& now, const std::string& predicted) {
  if (predicted.empty()) return now;
  return fmt::format("{} ({})", now.empty() ? "-" : now, predicted);
}

}  // namespace caravan::cli
