#include "planner/schedule/schedule.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace caravan::planner {
namespace {

constexpr std::array<std::pair<ScheduleKind, std::string_view>, 3> kNames = {
    {{ScheduleKind::GPipe, "GPipe"},
     {ScheduleKind::OneFOneB, "1F1B"},
     {ScheduleKind::Interleaved, "Interleaved"}}};

char letter(OpType type) {
  switch (type) {
    case OpType::Forward:
      return 'F';
    case OpType::BackwardInput:
    case OpType::Backward:
      return 'B';
    case OpType::BackwardWeight:
      return 'W';
  }
  return '?';
}

}  // namespace

std::string_view schedule_name(ScheduleKind kind) {
  for (const auto& [candidate, name] : kNames) {
    if (candidate == kind) return name;
  }
  return {};
}

std::optional<ScheduleKind> schedule_from_name(std::string_view name) {
  for (const auto& [kind, candidate] : kNames) {
    if (candidate == name) return kind;
  }
  return std::nullopt;
}

std::string op_text(const Op& op, const Schedule& schedule) {
  std::string text = fmt::format("{}{}", letter(op.type), op.micro_batch);
  if (schedule.segments > 1) text += fmt::format(".{}", op.segment);
  if (schedule.chunks > 1) text += static_cast<char>('a' + op.chunk);
  return text;
}

}  // namespace caravan::planner
