#include "cli/run/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "cli/run/json_lines.h"
#include "cli/terminal.h"
#include "common/utf8.h"
#include "proto/caravan/v1alpha1/reasons.h"
#include "report_text/checkpoint_line.h"

namespace caravan::cli {
namespace {

constexpr std::string_view kEraseLine = "\r\x1b[K";

}  // namespace

Console::Console(OutputForm form, std::FILE* out, std::FILE* err, std::chrono::milliseconds patience)
    : form_(form),
      out_(out),
      people_(form == OutputForm::kText ? out : err),
      shows_steps_to_people_(form == OutputForm::kText || terminal_facts(fileno(err)).is_terminal),
      patience_(patience),
      style_(style_for(terminal_facts(fileno(people_)))) {}

void Console::notice(std::string_view text) {
  print(readable(text) + '\n');
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
  print(fmt::format("{}: {}\n", paint(event.reason(), colour, style_), readable(event.message())));
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

// Of a descriptor that somebody has made non-blocking stdio forgets what finds no room. So it gets only what
// the descriptor refuses, and notes the error.
void Console::write(std::FILE* stream, std::string_view text) const {
  std::fflush(stream);
  pollfd descriptor{fileno(stream), POLLOUT, 0};
  const int patience = std::ferror(stream) != 0 ? 0 : static_cast<int>(patience_.count());
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor.fd, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR && (errno != EAGAIN || poll(&descriptor, 1, patience) == 0)) {
      std::fwrite(text.data(), 1, text.size(), stream);
      std::fflush(stream);
      return;
    }
  }
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
