#include "planner/schedule/schedule.h"

#include <fmt/format.h>

#include <array>

namespace caravan::planner {
namespace {

enum class Chunks : uint8_t { One, Several, TwoAsAV };

// All that is known of a schedule apart from its op lists.
struct Traits {
  ScheduleKind kind = ScheduleKind::GPipe;
  std::string_view name;
  Chunks chunks = Chunks::One;
  bool cuts_sequences = false;
  bool splits_backward = true;
  bool spares_memory = false;
  bool validates_afterwards = false;
  bool fixed_order = true;
  bool asked_for = true;
  int messages_under_way = 1;
};

// By ScheduleKind.
constexpr std::array<Traits, 11> kTraits = {
    {{.kind = ScheduleKind::GPipe, .name = "GPipe", .splits_backward = false},
     {.kind = ScheduleKind::OneFOneB, .name = "1F1B", .splits_backward = false},
     {.kind = ScheduleKind::Interleaved,
      .name = "Interleaved",
      .chunks = Chunks::Several,
      .splits_backward = false},
     {.kind = ScheduleKind::ZeroBubbleH1, .name = "ZBH1"},
     {.kind = ScheduleKind::ZeroBubbleH2,
      .name = "ZBH2",
      .validates_afterwards = true,
      .messages_under_way = 2},
     {.kind = ScheduleKind::ZeroBubbleAuto,
      .name = "ZBAuto",
      .fixed_order = false,
      .asked_for = false,
      .messages_under_way = 2},
     {.kind = ScheduleKind::VMin,
      .name = "VMin",
      .chunks = Chunks::TwoAsAV,
      .spares_memory = true,
      .fixed_order = false,
      .messages_under_way = 2},
     {.kind = ScheduleKind::VHalf,
      .name = "VHalf",
      .chunks = Chunks::TwoAsAV,
      .spares_memory = true,
      .fixed_order = false,
      .messages_under_way = 2},
     {.kind = ScheduleKind::VZeroBubble,
      .name = "VZB",
      .chunks = Chunks::TwoAsAV,
      .validates_afterwards = true,
      .fixed_order = false,
      .messages_under_way = 2},
     {.kind = ScheduleKind::Seq1F1B, .name = "Seq1F1B", .cuts_sequences = true, .splits_backward = false},
     {.kind = ScheduleKind::SeqZeroBubble, .name = "SeqZBH1", .cuts_sequences = true}}};

const Traits& traits_of(ScheduleKind kind) {
  return kTraits[static_cast<size_t>(kind)];
}

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

const char* words(OpType type) {
  switch (type) {
    case OpType::Forward:
      return "the forward";
    case OpType::BackwardInput:
    case OpType::Backward:
      return "the backward";
    case OpType::BackwardWeight:
      return "the gradients of the weights";
  }
  return "";
}

}  // namespace

bool stands_as_a_v(ScheduleKind kind) {
  return traits_of(kind).chunks == Chunks::TwoAsAV;
}

bool cuts_sequences(ScheduleKind kind) {
  return traits_of(kind).cuts_sequences;
}

bool splits_backward(ScheduleKind kind) {
  return traits_of(kind).splits_backward;
}

bool spares_memory(ScheduleKind kind) {
  return traits_of(kind).spares_memory;
}

bool validates_afterwards(ScheduleKind kind) {
  return traits_of(kind).validates_afterwards;
}

bool has_fixed_order(ScheduleKind kind) {
  return traits_of(kind).fixed_order;
}

bool may_be_asked_for(ScheduleKind kind) {
  return traits_of(kind).asked_for;
}

int messages_under_way(ScheduleKind kind) {
  return traits_of(kind).messages_under_way;
}

std::string_view schedule_name(ScheduleKind kind) {
  return traits_of(kind).name;
}

std::optional<ScheduleKind> schedule_from_name(std::string_view name) {
  for (const Traits& traits : kTraits) {
    if (traits.name == name) return traits.kind;
  }
  return std::nullopt;
}

std::vector<ScheduleKind> all_schedule_kinds() {
  std::vector<ScheduleKind> kinds;
  kinds.reserve(kTraits.size());
  for (const Traits& traits : kTraits) kinds.push_back(traits.kind);
  return kinds;
}

ScheduleSpec smallest_spec(ScheduleKind kind, int stages, int micro_batches) {
  const Traits& traits = traits_of(kind);
  return {.kind = kind,
          .stages = stages,
          .micro_batches = micro_batches,
          .chunks = traits.chunks == Chunks::One ? 1 : 2,
          .segments = traits.cuts_sequences ? 2 : 1,
          .most_in_flight = kind == ScheduleKind::ZeroBubbleAuto ? stages : 0};
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

std::string op_words(const Op& op) {
  std::string text = fmt::format("{} of micro-batch {}", words(op.type), op.micro_batch);
  if (op.segment > 0) text += fmt::format(", segment {}", op.segment);
  if (op.chunk > 0) text += fmt::format(", chunk {}", op.chunk);
  return text;
}

}  // namespace caravan::planner
