// What the user of `caravan run` sees. Two forms: text for people on standard output, or JSON lines on
// standard output with the text for people on standard error.
//
// On a terminal a progress bar stays below the last line. In the JSON form step lines go to standard error
// only where that is a terminal: in a log file the JSON lines tell the same. Words of others go out without
// control characters. A reader that is slow is waited for; where the stream does not block, within
// `patience`, since whoever writes hears of no signals meanwhile. Then it is taken for one that is gone.
#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <string_view>

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/plan.pb.h"
#include "cli/run/run_tally.h"
#include "cli/run/summary.h"
#include "report_text/console_style.h"
#include "report_text/step_line.h"

namespace caravan::cli {

enum class OutputForm { kText, kJson };

inline constexpr std::chrono::seconds kReaderPatience{60};

class Console {
 public:
  Console(OutputForm form, std::FILE* out, std::FILE* err,
          std::chrono::milliseconds patience = kReaderPatience);

  void notice(std::string_view text);
  // text: the plan as people read it.
  void plan(const v1alpha1::PlanReport& report, std::string_view text);
  // url: with the token.
  void page(std::string_view url);
  // tally: with this step.
  void step(const v1alpha1::JobStep& step, const RunFigures& figures, const RunTally& tally);
  void event(const v1alpha1::JobEvent& event);
  void checkpoint(const v1alpha1::CheckpointReport& checkpoint);
  void summary(const RunSummary& summary);

  // Nobody reads the output any more, or it has no room for ever.
  bool is_broken() const;

 private:
  void write(std::FILE* stream, std::string_view text) const;
  void print(std::string_view text);
  void print_json(std::string_view line);
  void draw_bar(std::string_view bar);

  const OutputForm form_;
  std::FILE* const out_;
  std::FILE* const people_;
  const bool shows_steps_to_people_;
  const std::chrono::milliseconds patience_;
  ConsoleStyle style_;
  std::string bar_;  // as it stands on the terminal; empty when there is none
};

}  // namespace caravan::cli
