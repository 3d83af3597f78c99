#include "planner/testing/golden_lists.h"

#include <algorithm>
#include <sstream>

namespace caravan::planner {
namespace {

Op parse_op(const std::string& text, bool split_backward) {
  Op op;
  if (text[0] == 'B') op.type = split_backward ? OpType::BackwardInput : OpType::Backward;
  if (text[0] == 'W') op.type = OpType::BackwardWeight;
  std::istringstream rest(text.substr(1));
  rest >> op.micro_batch;
  if (rest.peek() == '.') {
    rest.get();
    rest >> op.segment;
  }
  if (const int letter = rest.get(); letter >= 'a' && letter <= 'z') op.chunk = letter - 'a';
  return op;
}

}  // namespace

Schedule parse_op_lists(const std::vector<std::string>& stages, const ScheduleShape& shape) {
  Schedule schedule{.stages = static_cast<int>(stages.size()),
                    .micro_batches = shape.micro_batches,
                    .chunks = shape.chunks,
                    .segments = shape.segments,
                    .order = shape.order,
                    .ops = {}};
  for (const std::string& stage : stages) {
    const bool split_backward = stage.find('W') != std::string::npos;
    std::vector<Op> ops;
    std::istringstream words(stage);
    for (std::string word; words >> word;) ops.push_back(parse_op(word, split_backward));
    schedule.ops.push_back(std::move(ops));
  }
  return schedule;
}

std::vector<GoldenList> golden_lists() {
  return {
      {"1F1B",
       {.micro_batches = 4},
       {"F0 F1 F2 B0 F3 B1 B2 B3", "F0 F1 B0 F2 B1 F3 B2 B3", "F0 B0 F1 B1 F2 B2 F3 B3"}},
      {"ZB-H1",
       {.micro_batches = 4},
       {"F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3", "F0 F1 B0 F2 B1 W0 F3 B2 W1 B3 W2 W3",
        "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3"}},
      {"Seq1F1B",
       {.micro_batches = 4, .segments = 2},
       {"F0.0 F0.1 F1.0 F1.1 B0.1 F2.0 B0.0 F2.1 B1.1 F3.0 B1.0 F3.1 B2.1 B2.0 B3.1 B3.0",
        "F0.0 F0.1 F1.0 B0.1 F1.1 B0.0 F2.0 B1.1 F2.1 B1.0 F3.0 B2.1 F3.1 B2.0 B3.1 B3.0",
        "F0.0 F0.1 B0.1 F1.0 B0.0 F1.1 B1.1 F2.0 B1.0 F2.1 B2.1 F3.0 B2.0 F3.1 B3.1 B3.0"}},
      {"Interleaved",
       {.micro_batches = 4, .chunks = 2},
       {"F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a",
        "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a"}},
      {"V-Min",
       {.micro_batches = 4, .chunks = 2, .order = ChunkOrder::V},
       {"F0a F1a F0b B0b W0b B0a W0a F1b B1b W1b F2a B1a W1a F2b B2b W2b F3a B2a W2a F3b B3b W3b B3a W3a",
        "F0a F0b B0b B0a F1a F1b W0b W0a B1b B1a F2a F2b W1b W1a B2b B2a F3a F3b W2b W2a B3b B3a W3b W3a"}},
      {"V-Half",
       {.micro_batches = 4, .chunks = 2, .order = ChunkOrder::V},
       {"F0a F1a F2a F0b B0b W0b F1b B0a B1b W1b F2b W0a F3a B1a B2b W2b F3b B3b B2a W3b B3a W1a W2a W3a",
        "F0a F0b F1a F1b B0b W0b B0a W0a F2a F2b B1b B1a W1b F3a W1a F3b B2b B2a B3b B3a W2b W3b W2a W3a"}},
  };
}

GoldenList golden_list(const std::string& name) {
  const auto lists = golden_lists();
  return *std::ranges::find(lists, name, &GoldenList::name);
}

}  // namespace caravan::planner
