#include "checkpoint/format/box.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

namespace caravan::checkpoint {
namespace {

bool lies_in(const Box& whole, const Box& box) {
  return box.row >= 0 && box.column >= 0 && box.rows > 0 && box.columns > 0 && box.rows <= whole.rows &&
         box.columns <= whole.columns && box.row <= whole.rows - box.rows &&
         box.column <= whole.columns - box.columns;
}

// Columns of boxes that share a row, first column to the one behind the last.
class Columns {
 public:
  // False when some are taken.
  bool take(const Box& box) {
    const auto next = taken_.lower_bound(box.column);
    if (next != taken_.end() && next->first < box.column + box.columns) return false;
    if (next != taken_.begin() && std::prev(next)->second > box.column) return false;
    taken_.emplace_hint(next, box.column, box.column + box.columns);
    ends_.emplace(box.row + box.rows, box.column);
    return true;
  }
  // Of boxes that end before that row.
  void give_back(int64_t row) {
    for (; !ends_.empty() && ends_.begin()->first <= row; ends_.erase(ends_.begin()))
      taken_.erase(ends_.begin()->second);
  }

 private:
  std::map<int64_t, int64_t> taken_;
  std::multimap<int64_t, int64_t> ends_;  // first column, by the row behind
};

}  // namespace

Box whole_tensor(std::span<const int64_t> shape) {
  return {.rows = shape.empty() ? 1 : shape[0], .columns = shape.size() > 1 ? shape[1] : 1};
}

// Boxes that do not overlap and have as many elements as the tensor leave none out.
bool cover_exactly(const Box& whole, std::span<const Box> boxes) {
  if (!std::ranges::all_of(boxes, [&](const Box& box) { return lies_in(whole, box); })) return false;
  std::vector<Box> sorted(boxes.begin(), boxes.end());
  std::ranges::sort(sorted, {}, &Box::row);
  Columns columns;
  int64_t elements = 0;
  for (const Box& box : sorted) {
    columns.give_back(box.row);
    if (!columns.take(box)) return false;
    elements += box.rows * box.columns;
  }
  return elements == whole.rows * whole.columns;
}

}  // namespace caravan::checkpoint
