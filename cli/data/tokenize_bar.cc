#include "cli/data/tokenize_bar.h"

#include <fmt/format.h>

#include <string>

#include "cli/terminal.h"
#include "common/readable_bytes.h"
#include "common/readable_duration.h"
#include "common/readable_integer.h"

namespace caravan::cli {
namespace {

constexpr std::chrono::milliseconds kDrawInterval{100};
constexpr const char* kWipeLine = "\r\x1b[2K";

}  // namespace

std::string describe(const data::TokenizeProgress& progress, double seconds) {
  const auto bytes = static_cast<double>(progress.bytes);
  const double speed = seconds > 0 ? bytes / seconds : 0;
  std::string line = "tokenizing";
  if (progress.total_bytes && *progress.total_bytes > 0) {
    line += fmt::format("  {:.0f} % of {}", 100 * bytes / static_cast<double>(*progress.total_bytes),
                        readable_bytes(*progress.total_bytes));
  } else {
    line += "  " + readable_bytes(progress.bytes);
  }
  line += fmt::format("  {} tokens  {}/s", readable_integer(progress.tokens),
                      readable_bytes(static_cast<int64_t>(speed)));
  if (progress.total_bytes && speed > 0) {
    line += fmt::format("  {} left",
                        readable_duration((static_cast<double>(*progress.total_bytes) - bytes) / speed));
  }
  return line;
}

TokenizeBar::TokenizeBar(std::FILE* stream)
    : stream_(stream), style_(style_for(terminal_facts(::fileno(stream)))) {}

TokenizeBar::~TokenizeBar() {
  if (style_.progress_bar) fmt::print(stream_, "{}", kWipeLine);
}

void TokenizeBar::show(const data::TokenizeProgress& progress) {
  const Clock::time_point now = Clock::now();
  if (!style_.progress_bar || now < next_draw_) return;
  next_draw_ = now + kDrawInterval;
  const std::string line = describe(progress, std::chrono::duration<double>(now - started_).count());
  fmt::print(stream_, "{}{}", kWipeLine, style_.width == 0 ? line : line.substr(0, style_.width));
  std::fflush(stream_);
}

}  // namespace caravan::cli
