#include "planner/explain/memory_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "common/readable_bytes.h"
#include "planner/explain/table.h"
#include "planner/memory/terms_message.h"

namespace caravan::planner {
namespace {

// Stages first to last that look the same.
struct Line {
  int first = 0;
  int last = 0;
};

std::vector<Line> lines_of(const std::vector<StageMemory>& stages) {
  std::vector<Line> lines;
  for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
    if (!lines.empty() && stages[lines.back().first] == stages[stage]) {
      lines.back().last = stage;
    } else {
      lines.push_back({stage, stage});
    }
  }
  return lines;
}

constexpr size_t kMaximumLines = 12;
constexpr size_t kKeptAtEachEnd = 4;

// Indices of the lines that are shown.
std::set<size_t> worth_showing(const std::vector<Line>& lines, int binding_stage, bool all) {
  std::set<size_t> kept;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool end = i < kKeptAtEachEnd || i + kKeptAtEachEnd >= lines.size();
    const bool binding = lines[i].first <= binding_stage && binding_stage <= lines[i].last;
    if (all || lines.size() <= kMaximumLines || end || binding) kept.insert(i);
  }
  return kept;
}

std::string stages_text(const Line& line, int first_stage) {
  const int first = first_stage + line.first;
  return line.first == line.last ? fmt::format("{}", first)
                                 : fmt::format("{}-{}", first, first_stage + line.last);
}

// What the bars are drawn against.
struct Scale {
  int64_t full = 0;
  int64_t limit = 0;  // 0: not drawn
  std::string note;
};

Scale scale_of(const MemoryChart& chart) {
  int64_t largest = 0;
  for (const StageMemory& stage : chart.stages) largest = std::max(largest, stage.terms.total());
  const int64_t usable = chart.usable_bytes;
  if (usable == 0) return {.full = largest, .limit = 0, .note = ""};
  if (usable > kFarOff * largest)
    return {.full = largest,
            .limit = 0,
            .note = fmt::format("(the limit, {}, is far off)", readable_bytes(usable))};
  return {.full = std::max(largest, usable),
          .limit = usable,
          .note = fmt::format("(| is the limit, {})", readable_bytes(usable))};
}

constexpr int kBesideBar = 2 + 9 + 2 + 6 + 2 + 9 + 2 + 1;  // stage, layers, peak, the mark
constexpr int kNarrowestBar = 20;

}  // namespace

std::vector<LetteredTerm> letters_of(const MemoryTerms& terms) {
  return {{'P', "parameters", terms.parameters},
          {'G', "gradients", terms.gradients},
          {'O', "optimizer", terms.optimizer},
          {'A', "activations", terms.activations},
          {'L', "logits", terms.logits},
          {'W', "workspace", terms.workspace},
          {'C', "communication", terms.communication},
          {'X', "overhead", terms.overhead},
          {'S', "snapshot", terms.snapshot}};
}

MemoryChart memory_chart(const v1alpha1::Plan& plan) {
  MemoryChart chart{.stages = {}, .binding_stage = plan.binding_stage(), .usable_bytes = plan.usable_bytes()};
  for (int stage = 0; stage < plan.memory_per_stage_size(); ++stage)
    chart.stages.push_back({plan.layers_per_stage(stage), terms_value(plan.memory_per_stage(stage))});
  return chart;
}

MemoryChart memory_chart(const v1alpha1::Candidate& candidate, int64_t usable_bytes) {
  const int stage = candidate.binding_stage();
  return {.stages = {{candidate.layers_per_stage(stage), terms_value(candidate.memory())}},
          .first_stage = stage,
          .binding_stage = 0,
          .usable_bytes = usable_bytes};
}

std::string stacked_bar(const MemoryTerms& terms, int64_t limit, int64_t full, int width) {
  const auto cells = [&](int64_t bytes) {
    return static_cast<size_t>(std::llround(static_cast<double>(bytes) / static_cast<double>(full) * width));
  };
  std::string text;
  int64_t so_far = 0;
  for (const LetteredTerm& term : letters_of(terms)) {
    so_far += term.bytes;
    const size_t end = cells(so_far);
    text.append(end - std::min(end, text.size()), term.letter);
  }
  if (limit == 0) return text;
  const size_t mark = cells(limit);
  if (text.size() < mark) text.resize(mark, ' ');
  // What is over the limit always stands behind the mark, and what is not never does.
  if (so_far > limit && text.size() == mark) text += text.back();
  return text.substr(0, mark) + '|' + text.substr(mark);
}

std::string memory_legend(const MemoryChart& chart, int width) {
  std::vector<std::string> cells;
  for (const LetteredTerm& term : letters_of(chart.stages[chart.binding_stage].terms)) {
    if (term.bytes > 0)
      cells.push_back(fmt::format("{} {:<13} {:>9}", term.letter, term.name, readable_bytes(term.bytes)));
  }
  const size_t columns = std::max<size_t>(1, static_cast<size_t>(width) / (cells.front().size() + 2));
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i % columns == 0) rows.emplace_back();
    rows.back().push_back(cells[i]);
  }
  return format_table(std::vector<Column>(columns), rows);
}

std::string memory_bars(const MemoryChart& chart, int width, bool all) {
  const int bar_width = std::max(kNarrowestBar, width - kBesideBar);
  const Scale scale = scale_of(chart);
  const std::vector<Line> lines = lines_of(chart.stages);
  std::vector<std::vector<std::string>> rows;
  size_t next = 0;
  for (const size_t index : worth_showing(lines, chart.binding_stage, all)) {
    if (index != next) rows.push_back({"...", "", "", ""});
    next = index + 1;
    const StageMemory& stage = chart.stages[lines[index].first];
    rows.push_back({stages_text(lines[index], chart.first_stage), fmt::format("{}", stage.layers),
                    readable_bytes(stage.terms.total()),
                    stacked_bar(stage.terms, scale.limit, scale.full, bar_width)});
  }
  return format_table(
      {{"stage", Align::Right}, {"layers", Align::Right}, {"peak", Align::Right}, {scale.note}}, rows);
}

}  // namespace caravan::planner
