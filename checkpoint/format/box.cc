#include "checkpoint/format/box.h"

#include <algorithm>
#include <vector>

namespace caravan::checkpoint {
namespace {

bool lies_in(const Box& whole, const Box& box) {
  return box.row >= 0 && box.column >= 0 && box.rows > 0 && box.columns > 0 && box.rows <= whole.rows &&
         box.columns <= whole.columns && box.row <= whole.rows - box.rows &&
         box.column <= whole.columns - box.columns;
}

bool share_columns(const Box& a, const Box& b) {
  return a.column < b.column + b.columns && b.column < a.column + a.columns;
}

}  // namespace

Box whole_tensor(std::span<const int64_t> shape) {
  return {.rows = shape.empty() ? 1 : shape[0], .columns = shape.size() > 1 ? shape[1] : 1};
}

// Boxes that do not overlap and have as many elements as the tensor leave none out.
bool cover_exactly(const Box& whole, std::span<const Box> boxes) {
  if (!std::ranges::all_of(boxes, [&](const Box& box) { return lies_in(whole, box); })) return false;
  std::vector<Box> sorted(boxes.begin(), boxes.end());
  std::ranges::sort(sorted, {}, &Box::row);
  int64_t elements = 0;
  for (auto box = sorted.begin(); box != sorted.end(); ++box) {
    elements += box->rows * box->columns;
    for (auto next = box + 1; next != sorted.end() && next->row < box->row + box->rows; ++next)
      if (share_columns(*box, *next)) return false;
    if (elements > whole.rows * whole.columns) return false;
  }
  return elements == whole.rows * whole.columns;
}

}  // namespace caravan::checkpoint
