#include "report_text/step_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/readable_bytes.h"
#include "common/readable_duration.h"
#include "common/readable_integer.h"
#include "common/readable_percent.h"
#include "common/utf8.h"
#include "report_text/readable_exponent.h"

namespace caravan {
namespace {

struct Part {
  std::string label;
  std::string value;
  int importance;  // the lowest goes first when the line is too long
};

constexpr int kNeverDropped = 100;
constexpr std::string_view kGap = "  ";

std::size_t columns_of(const std::vector<Part>& parts) {
  std::size_t columns = 0;
  for (const Part& part : parts) {
    columns += utf8_characters(part.label) + 1 + utf8_characters(part.value);
    if (&part != &parts.front()) columns += kGap.size();
  }
  return columns;
}

void fit(std::vector<Part>& parts, std::size_t width) {
  const auto less_important = [](const Part& a, const Part& b) { return a.importance < b.importance; };
  while (width > 0 && columns_of(parts) > width) {
    const auto least = std::min_element(parts.begin(), parts.end(), less_important);
    if (least->importance == kNeverDropped) return;
    parts.erase(least);
  }
}

std::string memory_text(int64_t peak, const RunFigures& figures) {
  std::vector<std::string> notes;
  if (figures.usable_bytes > 0) {
    const double percent = 100.0 * static_cast<double>(peak) / static_cast<double>(figures.usable_bytes);
    notes.push_back(percent < 0.5 ? "<1 %" : fmt::format("{:.0f} %", percent));
  }
  if (figures.predicted_peak_bytes > 0) {
    notes.push_back("predicted " + readable_bytes_like(figures.predicted_peak_bytes, peak));
  }
  const std::string text = readable_bytes(peak);
  return notes.empty() ? text : fmt::format("{} ({})", text, fmt::join(notes, " · "));
}

std::string mfu_text(double mfu, const RunFigures& figures) {
  if (!figures.predicted_mfu) return readable_percent(mfu);
  return fmt::format("{} (predicted {:.1f})", readable_percent(mfu), *figures.predicted_mfu * 100);
}

std::string loss_text(const v1alpha1::JobStep& step) {
  const std::string loss = fmt::format("{:.4f}", step.loss());
  return step.skipped() ? loss + " (update skipped: not finite)" : loss;
}

std::vector<Part> parts_of(const v1alpha1::JobStep& step, const RunFigures& figures,
                           std::optional<double> remaining_seconds) {
  std::vector<Part> parts;
  const auto add = [&parts](int importance, std::string_view label, std::string value) {
    parts.push_back({std::string(label), std::move(value), importance});
  };
  add(kNeverDropped, "step", fmt::format("{}/{}", step.step(), figures.steps));
  add(kNeverDropped, "loss", loss_text(step));
  if (step.has_validation_loss()) add(8, "val_loss", fmt::format("{:.4f}", step.validation_loss()));
  add(4, "grad_norm", fmt::format("{:.2f}", step.gradient_norm()));
  add(3, "lr", readable_exponent(step.learning_rate()));
  const auto& peaks = step.peak_bytes_per_rank();
  if (!peaks.empty()) add(2, "mem", memory_text(*std::max_element(peaks.begin(), peaks.end()), figures));
  if (step.tokens_per_second() > 0) add(6, "tok/s", readable_integer(std::llround(step.tokens_per_second())));
  if (step.model_flops() > 0 && step.seconds() > 0) {
    add(1, "tflops", fmt::format("{:.3g}", step.model_flops() / step.seconds() / figures.devices / 1e12));
  }
  if (step.has_mfu()) add(7, "mfu", mfu_text(step.mfu(), figures));
  if (remaining_seconds) add(5, "eta", readable_duration(*remaining_seconds));
  return parts;
}

}  // namespace

RunFigures figures_of(const v1alpha1::JobPlan& job) {
  const v1alpha1::Training& training = job.spec().training();
  const v1alpha1::Plan& plan = job.plan();
  return {.steps = training.steps(),
          .devices = plan.devices(),
          .tokens_per_step = int64_t{training.sequence_length()} * training.global_batch_sequences(),
          .predicted_peak_bytes = plan.peak_bytes(),
          .usable_bytes = plan.usable_bytes(),
          .predicted_mfu = plan.has_mfu() ? std::optional(plan.mfu()) : std::nullopt};
}

std::string step_line(const v1alpha1::JobStep& step, const RunFigures& figures,
                      std::optional<double> remaining_seconds, const ConsoleStyle& style) {
  std::vector<Part> parts = parts_of(step, figures, remaining_seconds);
  fit(parts, style.width);
  std::string line;
  for (const Part& part : parts) {
    if (!line.empty()) line += kGap;
    const bool alarming = part.label == "loss" && step.skipped();
    line += paint(part.label, Colour::kDim, style) + " ";
    line += alarming ? paint(part.value, Colour::kRed, style) : part.value;
  }
  return line;
}

std::string progress_bar(int step, const RunFigures& figures, std::optional<double> remaining_seconds,
                         const ConsoleStyle& style) {
  constexpr std::size_t kLongest = 40;
  constexpr std::size_t kShortest = 5;
  const double fraction = figures.steps > 0 ? std::min(1.0, static_cast<double>(step) / figures.steps) : 0.0;
  std::string text = fmt::format(" {:3.0f} %  step {}/{}", std::floor(fraction * 100), step, figures.steps);
  if (remaining_seconds) text += "  eta " + readable_duration(*remaining_seconds);

  const std::size_t taken = utf8_characters(text) + 3;  // two brackets; the cursor stays on this line
  if (style.width < taken + kShortest) return text.substr(1, style.width > 0 ? style.width - 1 : 0);
  const std::size_t length = std::min(kLongest, style.width - taken);
  const auto done = static_cast<std::size_t>(fraction * static_cast<double>(length));
  const std::string bar = std::string(done, '#') + std::string(length - done, '-');
  return fmt::format("[{}]{}", paint(bar, Colour::kGreen, style), text);
}

}  // namespace caravan
