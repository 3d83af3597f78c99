#include "planner/schedule/op_list_text.h"

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

}  // namespace caravan::planner
