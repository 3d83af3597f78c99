#include "worker/trainer/device/cuda/own_kernels.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "planner/work/constants.h"
#include "worker/trainer/cuda/adamw.h"
#include "worker/trainer/cuda/cross_entropy.h"
#include "worker/trainer/cuda/embedding.h"
#include "worker/trainer/cuda/gradient_norm.h"
#include "worker/trainer/cuda/heads.h"
#include "worker/trainer/cuda/normal.h"
#include "worker/trainer/cuda/rms_norm.h"
#include "worker/trainer/cuda/rope.h"
#include "worker/trainer/cuda/swiglu.h"
#include "worker/trainer/device/cuda/stream.h"

namespace caravan::kernels::gpu {
namespace {

void require(const cuda::LaunchResult& launched, const char* kernel) {
  TORCH_CHECK(launched.ok(), kernel, " on a GPU: ", launched.error);
}

cuda::Storage storage_of(const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kFloat) return cuda::Storage::Float32;
  TORCH_CHECK(tensor.scalar_type() == at::kBFloat16,
              "kernels for GPUs work on fp32 and bf16 tensors, not on ", c10::toString(tensor.scalar_type()));
  return cuda::Storage::BFloat16;
}

// Null of an undefined tensor.
template <typename T = void>
T* data_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  TORCH_CHECK(tensor.is_contiguous(), "kernels for GPUs work on dense tensors");
  if constexpr (std::is_void_v<T>) {
    return tensor.mutable_data_ptr();
  } else {
    return tensor.mutable_data_ptr<T>();
  }
}

// Ids from the host, whose pages stay where they are (BatchOptions), so that nobody waits.
at::Tensor ids_where(const at::Tensor& ids, const at::Tensor& like) {
  return ids.to(like.device(), at::kLong, /*non_blocking=*/true).contiguous();
}

void rms_norm(const at::Tensor& x_TD, const at::Tensor& residual_TD, const at::Tensor& w_D, double eps,
              const Normed& normed) {
  require(cuda::add_rms_norm({.storage = storage_of(x_TD),
                              .rows = x_TD.size(0),
                              .columns = x_TD.size(1),
                              .epsilon = static_cast<float>(eps),
                              .residual = data_of(x_TD),
                              .x = data_of(residual_TD),
                              .weight = data_of(w_D),
                              .output = data_of(normed.y_TD),
                              .scale = data_of<float>(normed.scale_T)},
                             current_stream()),
          "rms_norm");
}

void rms_norm_apply(const at::Tensor& x_TD, const at::Tensor& w_D, const at::Tensor& scale_T,
                    at::Tensor& y_TD) {
  require(cuda::rms_norm_apply({.storage = storage_of(x_TD),
                                .rows = x_TD.size(0),
                                .columns = x_TD.size(1),
                                .x = data_of(x_TD),
                                .weight = data_of(w_D),
                                .scale = data_of<float>(scale_T),
                                .output = data_of(y_TD)},
                               current_stream()),
          "rms_norm_apply");
}

void rms_norm_backward(at::Tensor& gradient_TD, const at::Tensor& x_TD, const at::Tensor& w_D,
                       const at::Tensor& scale_T, const at::Tensor& residual_TD, at::Tensor& dw_D) {
  const int64_t rows = x_TD.size(0), columns = x_TD.size(1);
  static_assert(planner::kGpuNormGradientParts == cuda::kRmsNormPartialRows);
  const at::Tensor partial_PD =
      at::empty({planner::norm_gradient_parts(rows, /*gpu=*/true), columns}, dw_D.options());
  require(cuda::rms_norm_backward({.storage = storage_of(x_TD),
                                   .rows = rows,
                                   .columns = columns,
                                   .gradient = data_of(gradient_TD),
                                   .residual_gradient = data_of(residual_TD),
                                   .x = data_of(x_TD),
                                   .weight = data_of(w_D),
                                   .scale = data_of<float>(scale_T),
                                   .weight_gradient = data_of<float>(dw_D),
                                   .partial = data_of<float>(partial_PD)},
                                  current_stream()),
          "rms_norm_backward");
}

void rope_apply(at::Tensor& heads_TE, const at::Tensor& table_SK, int64_t heads, Rotation rotation) {
  const bool forward = rotation == Rotation::Forward;
  require(cuda::rope({.storage = storage_of(heads_TE),
                      .rotation = forward ? cuda::Rotation::Forward : cuda::Rotation::Backward,
                      .rows = heads_TE.size(0),
                      .row_size = heads_TE.size(1),
                      .heads = heads,
                      .head_dim = table_SK.size(1),
                      .sequence_length = table_SK.size(0),
                      .values = data_of(heads_TE),
                      .table = data_of<float>(table_SK)},
                     current_stream()),
          "rope");
}

void swiglu_forward(const at::Tensor& gate_up_T2F, at::Tensor& gated_TF) {
  require(cuda::swiglu_forward({.storage = storage_of(gated_TF),
                                .rows = gated_TF.size(0),
                                .columns = gated_TF.size(1),
                                .gate_up = data_of(gate_up_T2F),
                                .output = data_of(gated_TF)},
                               current_stream()),
          "swiglu");
}

void swiglu_backward(at::Tensor& gate_up_T2F, at::Tensor& gradient_TF) {
  require(cuda::swiglu_backward({.storage = storage_of(gradient_TF),
                                 .rows = gradient_TF.size(0),
                                 .columns = gradient_TF.size(1),
                                 .gate_up = data_of(gate_up_T2F),
                                 .gradient = data_of(gradient_TF)},
                                current_stream()),
          "swiglu_backward");
}

// Pieces that need no targets, or no logits, leave them out.
cuda::CrossEntropyChunk chunk_of(const at::Tensor& logits_CV, const at::Tensor& targets_C,
                                 int64_t first_token, const at::Tensor& statistics_3C) {
  return {.storage = logits_CV.defined() ? storage_of(logits_CV) : cuda::Storage::Float32,
          .tokens = statistics_3C.size(1),
          .vocabulary = logits_CV.defined() ? logits_CV.size(1) : 0,
          .first_token = first_token,
          .logits = data_of(logits_CV),
          .targets = data_of<int64_t>(targets_C),
          .statistics = data_of<float>(statistics_3C)};
}

void cross_entropy_maxima(const at::Tensor& logits_CV, at::Tensor& statistics_3C) {
  require(cuda::cross_entropy_maxima(chunk_of(logits_CV, {}, 0, statistics_3C), current_stream()),
          "cross_entropy_maxima");
}

void cross_entropy_sums(const at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                        at::Tensor& statistics_3C) {
  const at::Tensor ids_C = ids_where(targets_C, statistics_3C);
  require(cuda::cross_entropy_sums(chunk_of(logits_CV, ids_C, first_token, statistics_3C), current_stream()),
          "cross_entropy_sums");
}

void add_cross_entropy_loss(const at::Tensor& targets_C, const at::Tensor& statistics_3C,
                            at::Tensor& loss_sum) {
  const at::Tensor ids_C = ids_where(targets_C, statistics_3C);
  require(cuda::cross_entropy_loss(chunk_of({}, ids_C, 0, statistics_3C), data_of<double>(loss_sum),
                                   current_stream()),
          "cross_entropy_loss");
}

void cross_entropy_gradient(at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                            double scale, const at::Tensor& statistics_3C) {
  const at::Tensor ids_C = ids_where(targets_C, statistics_3C);
  require(cuda::cross_entropy_gradient(chunk_of(logits_CV, ids_C, first_token, statistics_3C),
                                       static_cast<float>(scale), current_stream()),
          "cross_entropy_gradient");
}

void embedding_forward(const at::Tensor& tokens, const at::Tensor& table_VD, int64_t first_token,
                       at::Tensor& y_TD) {
  const at::Tensor ids_T = ids_where(tokens, table_VD);
  require(cuda::embedding_forward({.storage = storage_of(table_VD),
                                   .tokens = ids_T.numel(),
                                   .columns = table_VD.size(1),
                                   .vocabulary = table_VD.size(0),
                                   .first_token = first_token,
                                   .token = data_of<int64_t>(ids_T),
                                   .table = data_of(table_VD),
                                   .output = data_of(y_TD)},
                                  current_stream()),
          "embedding");
}

// Row, start and position of an EmbeddingOrder, one after the other.
cuda::EmbeddingOrder order_in(const at::Tensor& numbers, int64_t tokens) {
  auto* const first = data_of<int32_t>(numbers);
  return {.row = first, .start = first + tokens, .position = first + 2 * tokens + 1};
}

// The host has the tokens, and finds out what is the same while the device works.
void embedding_backward(const at::Tensor& dy_TD, const at::Tensor& tokens, at::Tensor& dtable_VD,
                        int64_t first_token) {
  const int64_t count = tokens.numel();
  const at::TensorOptions host = at::device(at::kCPU).dtype(at::kInt);
  const at::Tensor numbers = at::empty({3 * count + 1}, host.pinned_memory(!dy_TD.is_cpu()));
  cuda::embedding_order(data_of<int64_t>(tokens.to(at::kCPU).contiguous()), count, first_token,
                        dtable_VD.size(0), order_in(numbers, count));
  const at::Tensor there = numbers.to(dy_TD.device(), at::kInt, /*non_blocking=*/true);
  require(cuda::embedding_backward({.storage = storage_of(dy_TD),
                                    .tokens = count,
                                    .columns = dy_TD.size(1),
                                    .order = order_in(there, count),
                                    .gradient = data_of(dy_TD),
                                    .table_gradient = data_of<float>(dtable_VD)},
                                   current_stream()),
          "embedding_backward");
}

cuda::AdamW update_of(const AdamWTensors& tensors, const AdamW& update) {
  return {.elements = tensors.weights.numel(),
          .weights = data_of<float>(tensors.weights),
          .gradients = data_of<float>(tensors.gradients),
          .moments = storage_of(tensors.first_moment),
          .first_moment = data_of(tensors.first_moment),
          .second_moment = data_of(tensors.second_moment),
          .bf16_weights = nullptr,
          .gradient_scale = static_cast<float>(update.gradient_scale),
          .learning_rate = update.learning_rate,
          .beta1 = update.beta1,
          .beta2 = update.beta2,
          .epsilon = update.epsilon,
          .weight_decay = update.weight_decay,
          .step = update.step,
          .rounding_key = update.rounding_key,
          .numbers = update.numbers};
}

void adamw(const AdamWTensors& tensors, const AdamW& update) {
  cuda::AdamW arguments = update_of(tensors, update);
  if (!tensors.values.is_alias_of(tensors.weights)) {
    TORCH_CHECK(tensors.values.scalar_type() == at::kBFloat16, "master copies are of bf16 weights");
    arguments.bf16_weights = data_of(tensors.values);
  }
  require(cuda::adamw(arguments, current_stream()), "adamw");
}

void adamw_values(const AdamWTensors& tensors, const AdamW& update) {
  require(cuda::adamw_values(update_of(tensors, update), storage_of(tensors.values), data_of(tensors.values),
                             current_stream()),
          "adamw_values");
}

void add_sum_of_squares(const at::Tensor& values, at::Tensor& sum) {
  const at::Tensor partial = at::empty({cuda::kSquaredNormParts}, sum.options());
  require(cuda::squared_norm({.elements = values.numel(),
                              .values = data_of<float>(values),
                              .partial = data_of<double>(partial),
                              .sum = data_of<double>(sum)},
                             current_stream()),
          "sum_of_squares");
}

void fill_normal(at::Tensor& values, uint64_t key, int64_t first_index, double standard_deviation) {
  require(cuda::fill_normal({.storage = storage_of(values),
                             .elements = values.numel(),
                             .values = data_of(values),
                             .key = key,
                             .first_index = first_index,
                             .standard_deviation = standard_deviation},
                            current_stream()),
          "fill_normal");
}

// Words of 32 bits are two halves: the low ones count once, the high ones 2^16 times.
uint64_t sum_of_bits(const at::Tensor& flat) {
  constexpr int64_t kHalvesAtATime = int64_t{1} << 25;  // of which the sum takes eight bytes each
  const at::Tensor halves = flat.view(at::kShort);
  uint64_t total = 0;
  for (int64_t first = 0; first < halves.numel(); first += kHalvesAtATime) {
    const int64_t count = std::min(kHalvesAtATime, halves.numel() - first);
    const at::Tensor numbers = halves.narrow(0, first, count).to(at::kLong).bitwise_and_(0xffff);
    const auto every_second_from = [&](int64_t begin) {
      return static_cast<uint64_t>(numbers.slice(0, begin, count, 2).sum().item<int64_t>());
    };
    total += every_second_from(0) + (every_second_from(1) << 16);
  }
  return total;
}

}  // namespace

KernelTable own_kernels(const char* name) {
  return {.name = name,
          .rms_norm = rms_norm,
          .rms_norm_apply = rms_norm_apply,
          .rms_norm_backward = rms_norm_backward,
          .rope_apply = rope_apply,
          .swiglu_forward = swiglu_forward,
          .swiglu_backward = swiglu_backward,
          .attention_forward = nullptr,
          .attention_backward = nullptr,
          .product = nullptr,
          .add_weight_gradient = nullptr,
          .cross_entropy_maxima = cross_entropy_maxima,
          .cross_entropy_sums = cross_entropy_sums,
          .add_cross_entropy_loss = add_cross_entropy_loss,
          .cross_entropy_gradient = cross_entropy_gradient,
          .embedding_forward = embedding_forward,
          .embedding_backward = embedding_backward,
          .adamw = adamw,
          .adamw_values = adamw_values,
          .add_sum_of_squares = add_sum_of_squares,
          .fill_normal = fill_normal,
          .sum_of_bits = sum_of_bits,
          .zeros_on_host = nullptr};
}

void place_heads(at::Tensor& rows_TE, int64_t first, const at::Tensor& heads_BHSK) {
  TORCH_CHECK(heads_BHSK.stride(3) == 1 && heads_BHSK.scalar_type() == rows_TE.scalar_type() &&
                  heads_BHSK.size(0) * heads_BHSK.size(2) == rows_TE.size(0),
              "heads are placed as they are stored, each in one piece, as many rows as there are");
  require(cuda::place_heads({.storage = storage_of(rows_TE),
                             .sequences = heads_BHSK.size(0),
                             .tokens = heads_BHSK.size(2),
                             .heads = heads_BHSK.size(1),
                             .head_dim = heads_BHSK.size(3),
                             .values = heads_BHSK.const_data_ptr(),
                             .sequence_stride = heads_BHSK.stride(0),
                             .token_stride = heads_BHSK.stride(2),
                             .head_stride = heads_BHSK.stride(1),
                             .rows = data_of(rows_TE),
                             .row_size = rows_TE.size(1),
                             .first_head = first},
                            current_stream()),
          "place_heads");
}

}  // namespace caravan::kernels::gpu
