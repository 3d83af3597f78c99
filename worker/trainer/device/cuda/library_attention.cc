// B sequences, S tokens, H query heads, K head dim
#include "worker/trainer/device/cuda/library_attention.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>

#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "worker/trainer/device/cuda/plain_attention.h"

namespace caravan::kernels::gpu {
namespace {

struct Heads {
  Heads(const at::Tensor& qkv_TE, const AttentionShape& shape)
      : q_BHSK(heads_of(qkv_TE, 0, shape.heads, shape)),
        k_BGSK(heads_of(qkv_TE, shape.heads, shape.kv_heads, shape)),
        v_BGSK(heads_of(qkv_TE, shape.heads + shape.kv_heads, shape.kv_heads, shape)) {}

  int64_t tokens() const { return q_BHSK.size(2); }

  at::Tensor q_BHSK, k_BGSK, v_BGSK;
};

// Keys in one piece.
bool is_whole(const AttentionHistory& history) {
  return history.kv_TC.empty();
}

at::Tensor rows_of(const at::Tensor& heads_BHSK) {
  return heads_BHSK.transpose(1, 2).flatten(2, 3).flatten(0, 1);
}

// Nothing is dropped, so there are no random numbers whose beginning a backward would have to know.
at::Tensor no_seed(const at::Tensor& like) {
  return at::empty({2}, like.options().dtype(at::kLong));
}

AttentionResult cudnn_forward(const at::Tensor& qkv_TE, const AttentionHistory& history,
                              const AttentionShape& shape) {
  if (!is_whole(history)) return plain_attention_forward(qkv_TE, history, shape);
  const Heads heads(qkv_TE, shape);
  const auto made = at::_scaled_dot_product_cudnn_attention(heads.q_BHSK, heads.k_BGSK, heads.v_BGSK,
                                                            /*attn_bias=*/{}, /*compute_log_sumexp=*/true,
                                                            /*dropout_p=*/0, /*is_causal=*/true);
  return {.output_TA = rows_of(std::get<0>(made)), .log_sums = std::get<1>(made)};
}

// Until the scope ends, and for the whole process, whether a library of LibTorch's is to add up gradients,
// which are sums over many blocks, in the same order every time. LibTorch passes this on to flash. It passes
// nothing on to cuDNN, of which it warns where an order is asked for.
class OrderOfSums {
 public:
  explicit OrderOfSums(bool is_fixed) {
    at::globalContext().setDeterministicAlgorithms(is_fixed, /*warn_only=*/false);
  }
  ~OrderOfSums() { at::globalContext().setDeterministicAlgorithms(before_, warned_only_); }
  OrderOfSums(const OrderOfSums&) = delete;
  OrderOfSums& operator=(const OrderOfSums&) = delete;

 private:
  const bool before_ = at::globalContext().deterministicAlgorithms();
  const bool warned_only_ = at::globalContext().deterministicAlgorithmsWarnOnly();
};

void cudnn_backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                    const at::Tensor& by_later_TC, AttentionHistory& history, const AttentionShape& shape) {
  if (!is_whole(history))
    return plain_attention_backward(qkv_TE, doutput_TA, result, by_later_TC, history, shape);
  const Heads heads(qkv_TE, shape);
  const at::Tensor seed = no_seed(qkv_TE);
  const OrderOfSums order(/*is_fixed=*/false);
  const auto [by_q, by_k, by_v] = at::_scaled_dot_product_cudnn_attention_backward(
      heads_of(doutput_TA, 0, shape.heads, shape), heads.q_BHSK, heads.k_BGSK, heads.v_BGSK,
      heads_of(result.output_TA, 0, shape.heads, shape), result.log_sums, seed, seed, /*attn_bias=*/{},
      /*cum_seq_q=*/{}, /*cum_seq_k=*/{}, heads.tokens(), heads.tokens(), /*dropout_p=*/0,
      /*is_causal=*/true);
  put_gradients(qkv_TE, by_q, by_k, by_v, by_later_TC, shape);
}

AttentionResult flash_forward(const at::Tensor& qkv_TE, const AttentionHistory& history,
                              const AttentionShape& shape) {
  if (!is_whole(history)) return plain_attention_forward(qkv_TE, history, shape);
  const Heads heads(qkv_TE, shape);
  const auto made = at::_scaled_dot_product_flash_attention(heads.q_BHSK, heads.k_BGSK, heads.v_BGSK,
                                                            /*dropout_p=*/0.0, /*is_causal=*/true);
  return {.output_TA = rows_of(std::get<0>(made)), .log_sums = std::get<1>(made)};
}

void flash_backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                    const at::Tensor& by_later_TC, AttentionHistory& history, const AttentionShape& shape) {
  if (!is_whole(history))
    return plain_attention_backward(qkv_TE, doutput_TA, result, by_later_TC, history, shape);
  const Heads heads(qkv_TE, shape);
  const at::Tensor seed = no_seed(qkv_TE);
  const OrderOfSums order(/*is_fixed=*/true);
  const auto [by_q, by_k, by_v] = at::_scaled_dot_product_flash_attention_backward(
      heads_of(doutput_TA, 0, shape.heads, shape), heads.q_BHSK, heads.k_BGSK, heads.v_BGSK,
      heads_of(result.output_TA, 0, shape.heads, shape), result.log_sums, /*cum_seq_q=*/{}, /*cum_seq_k=*/{},
      heads.tokens(), heads.tokens(), /*dropout_p=*/0.0, /*is_causal=*/true, seed, seed);
  put_gradients(qkv_TE, by_q, by_k, by_v, by_later_TC, shape);
}

struct Candidate {
  const char* name;
  AttentionKernels kernels;
};

// Output and gradients.
std::vector<at::Tensor> results_of(const AttentionKernels& kernels, const at::Tensor& qkv_TE,
                                   const at::Tensor& doutput_TA, const AttentionShape& shape) {
  AttentionHistory none;
  const AttentionResult result = kernels.forward(qkv_TE, none, shape);
  at::Tensor gradient_TE = qkv_TE.clone();
  kernels.backward(gradient_TE, doutput_TA, result, {}, none, shape);
  return {result.output_TA, gradient_TE};
}

bool is_near(const at::Tensor& made, const at::Tensor& expected) {
  constexpr double kBf16Roundings = 8.0 / 256;
  return at::allclose(made.to(at::kFloat), expected.to(at::kFloat), kBf16Roundings, kBf16Roundings);
}

// Why the kernels may not be used; empty: they may.
std::string objection_to(const AttentionKernels& kernels, const AttentionKernels& plain,
                         const AttentionShape& shape, const at::TensorOptions& options) {
  constexpr int64_t kTokens = 128;
  try {
    const at::Tensor qkv_TE =
        at::randn({kTokens, (shape.heads + 2 * shape.kv_heads) * shape.head_dim}, options);
    const at::Tensor doutput_TA = at::randn({kTokens, shape.heads * shape.head_dim}, options);
    const auto made = results_of(kernels, qkv_TE, doutput_TA, shape);
    const auto expected = results_of(plain, qkv_TE, doutput_TA, shape);
    if (!is_near(made[0], expected[0])) return "its output is wrong";
    if (!is_near(made[1], expected[1])) return "its gradients are wrong";
    return {};
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string wished_attention() {
  const char* const wanted = std::getenv("CARAVAN_ATTENTION");
  const std::string wish = wanted == nullptr ? "" : wanted;
  if (wish.empty() || wish == "cuDNN" || wish == "flash" || wish == "plain") return wish;
  throw std::runtime_error("CARAVAN_ATTENTION is '" + wish +
                           "': take cuDNN, flash or plain, or leave it out");
}

}  // namespace

AttentionKernels choose_attention(const AttentionShape& shape, at::ScalarType storage, at::Device device) {
  const AttentionKernels plain{
      .forward = plain_attention_forward, .backward = plain_attention_backward, .description = {}};
  const Candidate candidates[] = {
      {"cuDNN", {.forward = cudnn_forward, .backward = cudnn_backward, .description = {}}},
      {"flash", {.forward = flash_forward, .backward = flash_backward, .description = {}}}};
  const std::string wish = wished_attention();
  std::string objections;
  for (const Candidate& candidate : candidates) {
    if (!wish.empty() && wish != candidate.name) continue;
    const std::string objection = storage == at::kBFloat16 ? objection_to(candidate.kernels, plain, shape,
                                                                          at::device(device).dtype(storage))
                                                           : "it has no fp32";
    AttentionKernels chosen = candidate.kernels;
    chosen.description = std::string("attention: ") + candidate.name + objections;
    if (objection.empty()) return chosen;
    objections += std::string("; not ") + candidate.name + ": " + objection;
  }
  AttentionKernels chosen = plain;
  chosen.description = "attention: plain products, which are slow" + objections;
  return chosen;
}

}  // namespace caravan::kernels::gpu
