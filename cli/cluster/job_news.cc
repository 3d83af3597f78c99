#include "cli/cluster/job_news.h"

#include <fmt/format.h>

#include "cli/cluster/job_table.h"
#include "common/readable_duration.h"
#include "operator/api/job_conditions.h"
#include "operator/api/names.h"

namespace caravan::cli {
namespace {

namespace conditions = controller::conditions;

bool says_the_same(const v1alpha1::Condition* before, const v1alpha1::Condition& after) {
  return before != nullptr && before->status() == after.status() && before->reason() == after.reason() &&
         before->message() == after.message();
}

std::string line_of(const v1alpha1::Condition& condition) {
  const std::string name =
      condition.status() == "True" ? condition.type() : fmt::format("not {}", condition.type());
  const std::string message = condition.message().empty() ? "" : ": " + condition.message();
  return fmt::format("{} ({}){}", name, condition.reason(), message);
}

const v1alpha1::Condition* last_condition(const v1alpha1::JobStatus& status) {
  for (const char* type : {conditions::kComplete, conditions::kFailed}) {
    const v1alpha1::Condition* condition = controller::find_condition(status, type);
    if (condition != nullptr && condition->status() == "True") return condition;
  }
  return nullptr;
}

std::string with_prediction(const std::string& value, const std::string& predicted) {
  return predicted.empty() ? value : fmt::format("{} (predicted {})", value, predicted);
}

}  // namespace

std::vector<std::string> news_of(const v1alpha1::JobStatus& before, const v1alpha1::JobStatus& after) {
  std::vector<std::string> lines;
  for (const v1alpha1::Condition& condition : after.conditions()) {
    if (!says_the_same(controller::find_condition(before, condition.type()), condition))
      lines.push_back(line_of(condition));
  }
  if (after.progress().step() > before.progress().step()) lines.push_back(progress_line(after));
  return lines;
}

std::string progress_line(const v1alpha1::JobStatus& status) {
  const v1alpha1::ProgressStatus& progress = status.progress();
  if (!progress.has_step()) return "";
  std::string line = fmt::format("step {}/{} ({} %)", progress.step(), progress.steps(), progress.percent());
  if (!progress.loss().empty()) line += "  loss " + progress.loss();
  if (const std::string mfu = percent_text(progress.mfu_percent()); !mfu.empty())
    line += "  mfu " + with_prediction(mfu, status.predicted().mfu_percent());
  if (!progress.tokens_per_second().empty()) line += "  tok/s " + progress.tokens_per_second();
  if (!progress.peak_memory_per_device().empty())
    line +=
        "  mem " + with_prediction(progress.peak_memory_per_device(), status.predicted().memory_per_device());
  if (progress.has_estimated_remaining_seconds())
    line += "  eta " + readable_duration(progress.estimated_remaining_seconds());
  return line;
}

std::optional<ExitCode> end_of(const v1alpha1::JobStatus& status) {
  const v1alpha1::Condition* end = last_condition(status);
  if (end == nullptr) return std::nullopt;
  if (end->type() == conditions::kComplete) return ExitCode::kDone;
  return end->reason() == reasons::kDoesNotFit ? ExitCode::kDoesNotFit : ExitCode::kJobFailed;
}

std::string words_of_end(const v1alpha1::JobStatus& status) {
  const v1alpha1::Condition* end = last_condition(status);
  if (end == nullptr) return "";
  return end->message().empty() ? end->reason() : fmt::format("{}: {}", end->reason(), end->message());
}

}  // namespace caravan::cli
