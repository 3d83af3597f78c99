#include "cli/run/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "cli/run/json_lines.h"
#include "cli/terminal.h"
#include "common/utf8.h"
#include "proto/caravan/v1alpha1/reasons.h"
#include "report_text/checkpoint_line.h"

namespace caravan::cli {
namespace {

constexpr std::string_view kEraseLine = "\r\x1b[K";
constexpr std::chrono::milliseconds kBetweenPolls{100};
constexpr std::string_view kStuck =
    "standard output: its reader is stuck and gets no more; write to a file, or have it read on\n";

}  // namespace

Console::Console(OutputForm form, std::FILE* out, std::FILE* err, std::function<bool()> end_is_asked,
                 std::chrono::milliseconds patience)
    : form_(form),
      out_(out),
      err_(err),
      people_(form == OutputForm::kText ? out : err),
      shows_steps_to_people_(form == OutputForm::kText || terminal_facts(fileno(err)).is_terminal),
      end_is_asked_(std::move(end_is_asked)),
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

void Console::output_trouble(std::string_view text) {
  if (people_ == err_) return print(text);
  write(err_, text);
}

int Console::width() const {
  return text_width(fileno(people_));
}

bool Console::is_broken() const {
  return stuck_.contains(out_) || std::ferror(out_) != 0;
}

// Whoever blocks in a write hears of no signals: this one writes what a pipe that has room takes at once. Of
// a descriptor that somebody has made non-blocking stdio forgets what finds no room. So it gets only what the
// descriptor refuses, and notes the error.
void Console::write(std::FILE* stream, std::string_view text) {
  if (stuck_.contains(stream)) return;
  std::fflush(stream);
  const int descriptor = fileno(stream);
  while (!text.empty()) {
    if (!wait_for_room(descriptor)) return give_up(stream);
    const ssize_t count = ::write(descriptor, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR && errno != EAGAIN) {
      std::fwrite(text.data(), 1, text.size(), stream);
      std::fflush(stream);
      return;
    }
  }
}

bool Console::wait_for_room(int descriptor) const {
  pollfd reader{descriptor, POLLOUT, 0};
  std::chrono::milliseconds left = patience_;
  while (poll(&reader, 1, static_cast<int>(kBetweenPolls.count())) == 0) {
    if (is_ending_ || end_is_asked_()) left -= kBetweenPolls;
    if (left.count() <= 0) return false;
  }
  return true;
}

void Console::give_up(std::FILE* stream) {
  stuck_.insert(stream);
  if (stream == out_) output_trouble(kStuck);
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
