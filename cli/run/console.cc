#include "cli/run/console.h"

#include <fmt/format.h>

#include "cli/run/json_lines.h"
#include "cli/terminal.h"
#include "proto/caravan/v1alpha1/reasons.h"
#include "report_text/checkpoint_line.h"

namespace caravan::cli {
namespace {

constexpr std::string_view kEraseLine = "\r\x1b[K";

bool write(std::FILE* stream, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
}

}  // namespace

Console::Console(OutputForm form, std::FILE* out, std::FILE* err)
    : form_(form),
      out_(out),
      people_(form == OutputForm::kText ? out : err),
      shows_steps_to_people_(form == OutputForm::kText || terminal_facts(fileno(err)).is_terminal),
      style_(style_for(terminal_facts(fileno(people_)))) {}

void Console::notice(std::string_view text) {
  print(fmt::format("{}\n", text));
}

void Console::plan(const v1alpha1::PlanReport& report, std::string_view text) {
  print_json(plan_json(report));
  print(text);
}

void Console::page(std::string_view url) {
  print_json(JsonLine("page").text("url", url).finish());
  notice(fmt::format("page: {}", url));
}

void Console::step(const v1alpha1::JobStep& step, const RunFigures& figures, const RunTally& tally) {
  print_json(step_json(step, figures.steps));
  if (!shows_steps_to_people_) return;
  style_ = style_for(terminal_facts(fileno(people_)));  // the window may have another width by now
  const std::optional<double> remaining = tally.remaining_seconds(figures.steps);
  print(step_line(step, figures, remaining, style_) + '\n');
  if (style_.progress_bar) draw_bar(progress_bar(step.step(), figures, remaining, style_));
}

void Console::event(const v1alpha1::JobEvent& event) {
  print_json(event_json(event));
  const bool goes_on = event.restarting() || event.reason() == reasons::kStraggler;
  const Colour colour = goes_on ? Colour::kYellow : Colour::kRed;
  print(fmt::format("{}: {}\n", paint(event.reason(), colour, style_), event.message()));
}

void Console::checkpoint(const v1alpha1::CheckpointReport& checkpoint) {
  print_json(checkpoint_json(checkpoint));
  const std::string text = checkpoint_line(checkpoint, style_);
  const bool is_usual = checkpoint.outcome() == v1alpha1::CheckpointReport::Written;
  if (!text.empty() && (!is_usual || shows_steps_to_people_)) print(text + '\n');
}

void Console::summary(const RunSummary& summary) {
  draw_bar("");
  print_json(summary_json(summary));
  print('\n' + summary_text(summary, style_));
}

bool Console::is_broken() const {
  return std::ferror(out_) != 0;
}

// A bar that stands there is taken away and drawn again below.
void Console::print(std::string_view text) {
  if (bar_.empty()) {
    write(people_, text);
  } else {
    write(people_, fmt::format("{}{}{}", kEraseLine, text, bar_));
  }
}

void Console::print_json(std::string_view line) {
  if (form_ == OutputForm::kJson) write(out_, line);
}

void Console::draw_bar(std::string_view bar) {
  if (bar_.empty() && bar.empty()) return;
  bar_ = bar;
  write(people_, fmt::format("{}{}", kEraseLine, bar));
}

}  // namespace caravan::cli
