#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/readable_bytes.h"
#include "planner/explain/picture_parts.h"

namespace caravan::planner {
namespace {

// In the order of letters_of(), neighbours well apart in brightness.
constexpr std::array<std::string_view, 9> kTermColours = {
    "#4e79a7", "#a0cbe8", "#f28e2b", "#59a14f", "#d4a6c8", "#b6992d", "#b07aa1", "#9c9c9c", "#499894"};
constexpr std::string_view kLimitColour = "#d1242f";
constexpr double kRoomAtTheRight = 1.04;

std::vector<LegendEntry> legend_of(const MemoryChart& chart) {
  std::vector<LegendEntry> entries;
  const auto terms = letters_of(chart.stages[chart.binding_stage].terms);
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool used = std::ranges::any_of(
        chart.stages, [&](const StageMemory& stage) { return letters_of(stage.terms)[i].bytes > 0; });
    if (used) entries.push_back({kTermColours[i], terms[i].name});
  }
  return entries;
}

double full_of(const MemoryChart& chart) {
  int64_t largest = 0;
  for (const StageMemory& stage : chart.stages) largest = std::max(largest, stage.terms.total());
  const bool near = chart.usable_bytes <= kFarOff * largest;
  return kRoomAtTheRight * static_cast<double>(std::max(largest, near ? chart.usable_bytes : 0));
}

void draw_bar(Svg& svg, const MemoryTerms& terms, double scale, double y, double height) {
  int64_t before = 0;
  const auto named = letters_of(terms);
  for (size_t i = 0; i < named.size(); ++i) {
    if (named[i].bytes == 0) continue;
    svg.rectangle(Frame::kLeft + static_cast<double>(before) * scale, y,
                  static_cast<double>(named[i].bytes) * scale, height, kTermColours[i]);
    before += named[i].bytes;
  }
}

void draw_byte_axis(Svg& svg, double full, double scale, double y) {
  const ByteUnit unit = byte_unit_of(static_cast<int64_t>(full));
  const double distance = tick_distance(full / unit.bytes, 8) * unit.bytes;
  for (int i = 0; i * distance <= full; ++i) {
    const double x = Frame::kLeft + i * distance * scale;
    svg.line(x, y, x, y + 4, kQuietColour);
    svg.text(x, y + 16, i == 0 ? "0" : fmt::format("{:.3g} {}", i * distance / unit.bytes, unit.name),
             {.size = 11, .anchor = Anchor::Middle, .colour = kQuietColour});
  }
}

}  // namespace

double draw_memory(Svg& svg, const MemoryChart& chart, double top) {
  draw_legend(svg, top, legend_of(chart));
  const int stages = static_cast<int>(chart.stages.size());
  const double height = row_height(stages);
  const double full = full_of(chart);
  const double scale = Frame::kBars / full;
  const double first = top + 36;
  double y = first;
  for (int stage = 0; stage < stages; ++stage, y += height + 2) {
    draw_bar(svg, chart.stages[stage].terms, scale, y, height);
    if (stage % label_stride(stages) != 0) continue;
    const double base = y + height / 2 + 4;
    svg.text(Frame::kLeft - 8, base, fmt::format("stage {}", stage), {.size = 11, .anchor = Anchor::End});
    svg.text(Frame::kRight + 8, base, readable_bytes(chart.stages[stage].terms.total()), {.size = 11});
  }
  draw_byte_axis(svg, full, scale, y + 2);
  const auto limit = static_cast<double>(chart.usable_bytes);
  if (limit > 0 && limit <= full) {
    const double x = Frame::kLeft + limit * scale;
    svg.line(x, first - 4, x, y + 2, kLimitColour, /*dashed=*/true);
    svg.text(x, first - 8, fmt::format("limit {}", readable_bytes(chart.usable_bytes)),
             {.size = 11, .anchor = Anchor::End, .colour = kLimitColour});
  }
  return y + 24;
}

}  // namespace caravan::planner
