#include <algorithm>

#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/storage_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/trainer/kernels/embedding.cc"
#include "worker/trainer/kernels/each_instruction_set.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

template <typename T>
void add_columns(Range columns, const at::Tensor& dy_TD, const at::Tensor& tokens, at::Tensor& dtable_VD,
                 int64_t first_token) {
  const int64_t width = dtable_VD.size(1);
  for (int64_t row = 0; row < tokens.numel(); ++row) {
    const int64_t local = tokens.const_data_ptr<int64_t>()[row] - first_token;
    if (local < 0 || local >= dtable_VD.size(0)) continue;
    const T* const dy = dy_TD.const_data_ptr<T>() + row * width;
    Wide<T>* const dtable = dtable_VD.mutable_data_ptr<Wide<T>>() + local * width;
    for_vectors<Wide<T>>(columns.begin, columns.end, [=](int64_t i, auto extent) HWY_ATTR {
      store(hn::Add(load(dtable + i, extent), load(dy + i, extent)), dtable + i, extent);
    });
  }
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caravan::kernels::cpu {
namespace {

constexpr int64_t kColumnsPerTask = 64;  // some lines of memory

}  // namespace

void embedding_forward(const at::Tensor& tokens, const at::Tensor& table_VD, int64_t first_token,
                       at::Tensor& y_TD) {
  const int64_t columns = table_VD.size(1);
  for_storage_type(table_VD.scalar_type(), [&]<typename T>() {
    const int64_t* const token = tokens.const_data_ptr<int64_t>();
    const T* const table = table_VD.const_data_ptr<T>();
    T* const y = y_TD.mutable_data_ptr<T>();
    parallel_ranges(tokens.numel(), columns, [&](Range rows) {
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        const int64_t local = token[row] - first_token;
        if (local >= 0 && local < table_VD.size(0)) {
          std::copy_n(table + local * columns, columns, y + row * columns);
        } else {
          std::fill_n(y + row * columns, columns, T{0});
        }
      }
    });
  });
}

// Threads share columns out, not tokens: a row may be hit many times, and always in the same order.
void embedding_backward(const at::Tensor& dy_TD, const at::Tensor& tokens, at::Tensor& dtable_VD,
                        int64_t first_token) {
  const int64_t columns = dtable_VD.size(1);
  for_storage_type(dy_TD.scalar_type(), [&]<typename T>() {
    const auto of_columns = CARAVAN_CHOOSE(add_columns<T>);
    parallel_ranges((columns + kColumnsPerTask - 1) / kColumnsPerTask, kColumnsPerTask * tokens.numel(),
                    [&](Range blocks) {
                      const Range these{.begin = blocks.begin * kColumnsPerTask,
                                        .end = std::min(columns, blocks.end * kColumnsPerTask)};
                      of_columns(these, dy_TD, tokens, dtable_VD, first_token);
                    });
  });
}

}  // namespace caravan::kernels::cpu
#endif
