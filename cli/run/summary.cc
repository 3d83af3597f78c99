#include "cli/run/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "cli/run/json_lines.h"
#include "common/readable_bytes.h"
#include "common/readable_duration.h"
#include "common/readable_integer.h"
#include "common/readable_percent.h"
#include "common/utf8.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::cli {
namespace {

// On those of earlier steps another run has trained.
int64_t tokens_of(const RunSummary& summary) {
  return summary.tally.own_steps() * summary.figures.tokens_per_step;
}

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("  {:<12} {}\n", label, text);
}

// The first line, but for what announces others; the whole message was told when it happened.
std::string_view first_line(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.ends_with(':') ? line.substr(0, line.rfind(". ")) : line;
}

std::string headline(const RunSummary& summary, const ConsoleStyle& style) {
  const std::string& result = summary.result.result();
  const std::string verdict =
      paint(result, result == reasons::kComplete ? Colour::kGreen : Colour::kRed, style);
  std::string text = fmt::format("{}: {} of {} steps, {} tokens in {}\n", verdict, summary.tally.last_step(),
                                 summary.figures.steps, readable_integer(tokens_of(summary)),
                                 readable_duration(summary.wall_seconds));
  if (result != reasons::kComplete && !summary.result.message().empty())
    text += line("reason", readable(first_line(summary.result.message())));
  return text;
}

std::string memory_line(const RunSummary& summary) {
  std::vector<std::string> ranks;
  for (const int64_t peak : summary.tally.peak_bytes_per_rank()) {
    ranks.push_back(fmt::format("rank {} {}", ranks.size(), readable_bytes(peak)));
  }
  return line("peak memory", fmt::format("{}; predicted {}", fmt::join(ranks, ", "),
                                         readable_bytes(summary.figures.predicted_peak_bytes)));
}

std::string mfu_line(double mfu, const RunFigures& figures) {
  std::string text = readable_percent(mfu);
  if (figures.predicted_mfu) text += fmt::format("; predicted {}", readable_percent(*figures.predicted_mfu));
  return line("mfu", text);
}

}  // namespace

std::string summary_text(const RunSummary& summary, const ConsoleStyle& style) {
  const RunTally& tally = summary.tally;
  std::string text = headline(summary, style);
  if (tally.resumed_step()) text += line("resumed", fmt::format("after step {}", *tally.resumed_step()));
  if (tally.last_loss())
    text += line("loss", fmt::format("first {:.4f}, last {:.4f}", *tally.first_loss(), *tally.last_loss()));
  if (tally.mean_step_seconds()) {
    text += line("step time", fmt::format("mean {:.3f} s, worst {:.3f} s (without the first)",
                                          *tally.mean_step_seconds(), *tally.worst_step_seconds()));
  }
  if (tally.mean_step_seconds() > 0.0) {
    const double tokens_per_second =
        static_cast<double>(summary.figures.tokens_per_step) / *tally.mean_step_seconds();
    text += line("speed", fmt::format("{} tokens/s", readable_integer(std::llround(tokens_per_second))));
  }
  if (tally.mfu()) text += mfu_line(*tally.mfu(), summary.figures);
  if (!tally.peak_bytes_per_rank().empty()) text += memory_line(summary);
  text += line("restarts", fmt::format("{}", summary.result.restarts()));
  if (!summary.log_directory.empty()) text += line("rank logs", summary.log_directory);
  return text;
}

std::string summary_json(const RunSummary& summary) {
  const RunTally& tally = summary.tally;
  const v1alpha1::JobResult& result = summary.result;
  const std::string reason =
      result.message().empty() ? result.reason() : fmt::format("{}: {}", result.reason(), result.message());
  return JsonLine("summary")
      .text("result", result.result())
      .integer("steps", tally.last_step())
      .integer("resumedStep", tally.resumed_step())
      .integer("tokens", tokens_of(summary))
      .number("firstLoss", tally.first_loss())
      .number("lastLoss", tally.last_loss())
      .number("meanStepSeconds", tally.mean_step_seconds())
      .number("worstStepSeconds", tally.worst_step_seconds())
      .number("mfu", tally.mfu())
      .integer("restarts", result.restarts())
      .integer("predictedPeakBytes", summary.figures.predicted_peak_bytes)
      .integers("peakBytesPerRank", tally.peak_bytes_per_rank())
      .text("reason", reason)
      .finish();
}

}  // namespace caravan::cli
