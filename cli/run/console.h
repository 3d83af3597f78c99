// What the user of `caravan run` sees. Two forms: text for people on standard output, or JSON lines on
// standard output with the text for people on standard error.
//
// On a terminal a progress bar stays below the last line. In the JSON form step lines go to standard error
// only where that is a terminal: in a log file the JSON lines tell the same. Words of others go out without
// control characters. A reader that is slow is waited for until somebody asks the run to end, and then for
// `patience`. One that is stuck for longer gets no more, and standard error says so of standard output. That
// holds for pipes and sockets: a terminal tells of any room that it has, and a write may wait for more.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/plan.pb.h"
#include "cli/run/run_tally.h"
#include "cli/run/summary.h"
#include "report_text/console_style.h"
#include "report_text/step_line.h"

namespace caravan::cli {

enum class OutputForm { kText, kJson };

inline constexpr std::chrono::seconds kReaderPatience{2};

class Console {
 public:
  // end_is_asked: whether somebody asks the run to end who has not been heard yet.
  Console(OutputForm form, std::FILE* out, std::FILE* err, std::function<bool()> end_is_asked,
          std::chrono::milliseconds patience = kReaderPatience);

  // The run ends: whoever asks it to has been heard.
  void ending() { is_ending_ = true; }
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
  // What is wrong with standard output, on standard error. text: a line.
  void output_trouble(std::string_view text);

  // Of a line of text that people read.
  int width() const;
  // Of what was printed on standard output, something did not arrive.
  bool is_broken() const;

 private:
  void write(std::FILE* stream, std::string_view text);
  bool wait_for_room(int descriptor) const;
  void give_up(std::FILE* stream);
  void print(std::string_view text);
  void print_json(std::string_view line);
  void draw_bar(std::string_view bar);

  const OutputForm form_;
  std::FILE* const out_;
  std::FILE* const err_;
  std::FILE* const people_;
  const bool shows_steps_to_people_;
  const std::function<bool()> end_is_asked_;
  const std::chrono::milliseconds patience_;
  bool is_ending_ = false;
  std::set<std::FILE*> stuck_;  // whose readers are
  ConsoleStyle style_;
  std::string bar_;  // as it stands on the terminal; empty when there is none
};

}  // namespace caravan::cli
