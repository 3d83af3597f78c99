#include "planner/schedule/schedule.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace caravan::planner {
namespace {

constexpr std::array<std::pair<ScheduleKind, std::string_view>, 11> kNames = {
    {{ScheduleKind::GPipe, "GPipe"},
     {ScheduleKind::OneFOneB, "1F1B"},
     {ScheduleKind::Interleaved, "Interleaved"},
     {ScheduleKind::ZeroBubbleH1, "ZBH1"},
     {ScheduleKind::ZeroBubbleH2, "ZBH2"},
     {ScheduleKind::ZeroBubbleAuto, "ZBAuto"},
     {ScheduleKind::VMin, "VMin"},
     {ScheduleKind::VHalf, "VHalf"},
     {ScheduleKind::VZeroBubble, "VZB"},
     {ScheduleKind::Seq1F1B, "Seq1F1B"},
     {ScheduleKind::SeqZeroBubble, "SeqZBH1"}}};

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

bool stands_as_a_v(ScheduleKind kind) {
  return kind == ScheduleKind::VMin || kind == ScheduleKind::VHalf || kind == ScheduleKind::VZeroBubble;
}

bool cuts_sequences(ScheduleKind kind) {
  return kind == ScheduleKind::Seq1F1B || kind == ScheduleKind::SeqZeroBubble;
}

bool splits_backward(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::GPipe:
    case ScheduleKind::OneFOneB:
    case ScheduleKind::Interleaved:
    case ScheduleKind::Seq1F1B:
      return false;
    default:
      return true;
  }
}

bool trainer_runs(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::GPipe:
    case ScheduleKind::OneFOneB:
    case ScheduleKind::ZeroBubbleH1:
    case ScheduleKind::ZeroBubbleH2:
      return true;
    default:
      return false;
  }
}

int messages_under_way(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::ZeroBubbleH2:
    case ScheduleKind::ZeroBubbleAuto:
    case ScheduleKind::VMin:
    case ScheduleKind::VHalf:
    case ScheduleKind::VZeroBubble:
      return 2;
    default:
      return 1;
  }
}

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

std::vector<ScheduleKind> all_schedule_kinds() {
  std::vector<ScheduleKind> kinds;
  kinds.reserve(kNames.size());
  for (const auto& [kind, name] : kNames) kinds.push_back(kind);
  return kinds;
}

ChunkMap ScheduleSpec::map() const {
  return {
      .stages = stages, .chunks = chunks, .order = stands_as_a_v(kind) ? ChunkOrder::V : ChunkOrder::Loop};
}

std::string op_text(const Op& op, const Schedule& schedule) {
  std::string text = fmt::format("{}{}", letter(op.type), op.micro_batch);
  if (schedule.segments > 1) text += fmt::format(".{}", op.segment);
  if (schedule.chunks > 1) text += static_cast<char>('a' + op.chunk);
  return text;
}

}  // namespace caravan::planner
