#include "cli/run/json_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/json.h"

namespace caravan::cli {

JsonLine::JsonLine(std::string_view type) : line_("{\"type\":" + json_string(type)) {}

JsonLine& JsonLine::text(std::string_view key, std::string_view value) {
  return raw(key, json_string(value));
}

JsonLine& JsonLine::integer(std::string_view key, std::optional<int64_t> value) {
  return raw(key, value ? fmt::format("{}", *value) : "null");
}

JsonLine& JsonLine::number(std::string_view key, std::optional<double> value) {
  return raw(key, value ? json_number(*value) : "null");
}

JsonLine& JsonLine::boolean(std::string_view key, bool value) {
  return raw(key, value ? "true" : "false");
}

JsonLine& JsonLine::integers(std::string_view key, const std::vector<int64_t>& values) {
  return raw(key, fmt::format("[{}]", fmt::join(values, ",")));
}

JsonLine& JsonLine::raw(std::string_view key, std::string_view json) {
  line_.append(",").append(json_string(key)).append(":").append(json);
  return *this;
}

std::string JsonLine::finish() {
  return std::move(line_) + "}\n";
}

std::string plan_json(const v1alpha1::PlanReport& report) {
  const std::string object = to_json(report);
  return "{\"type\":\"plan\"," + object.substr(1) + "\n";
}

std::string step_json(const v1alpha1::JobStep& step, int steps) {
  const auto& peaks = step.peak_bytes_per_rank();
  JsonLine line("step");
  line.integer("attempt", step.attempt())
      .integer("step", step.step())
      .integer("steps", steps)
      .number("loss", step.loss())
      .number("gradNorm", step.gradient_norm())
      .number("learningRate", step.learning_rate())
      .number("tokensPerSecond", step.tokens_per_second())
      .number("mfu", step.has_mfu() ? std::optional(step.mfu()) : std::nullopt)
      .integer("peakBytes",
               peaks.empty() ? std::nullopt : std::optional(*std::max_element(peaks.begin(), peaks.end())))
      .number("seconds", step.seconds());
  if (step.has_validation_loss()) line.number("validationLoss", step.validation_loss());
  if (step.skipped()) line.boolean("skipped", true);
  return line.finish();
}

std::string event_json(const v1alpha1::JobEvent& event) {
  return JsonLine("event")
      .text("reason", event.reason())
      .integer("rank", event.rank() >= 0 ? std::optional<int64_t>(event.rank()) : std::nullopt)
      .text("message", event.message())
      .finish();
}

std::string checkpoint_json(const v1alpha1::CheckpointReport& checkpoint) {
  JsonLine line("checkpoint");
  line.text("outcome", v1alpha1::CheckpointReport::Outcome_Name(checkpoint.outcome()))
      .integer("step", checkpoint.step())
      .text("path", checkpoint.path());
  if (checkpoint.seconds() > 0) line.number("seconds", checkpoint.seconds());
  if (checkpoint.stall_seconds() > 0) line.number("stallSeconds", checkpoint.stall_seconds());
  if (checkpoint.bytes() > 0) line.integer("bytes", checkpoint.bytes());
  if (!checkpoint.message().empty()) line.text("message", checkpoint.message());
  return line.finish();
}

}  // namespace caravan::cli
