// B sequences, S tokens at work, L these and those of the segments before, H query heads, G key heads, K head
// dim, C = 2·G·K
#include "worker/trainer/device/cuda/library_attention.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <cstdlib>
#include <exception>
#include <tuple>
#include <vector>

#include "worker/trainer/device/cuda/plain_attention.h"

namespace caravan::kernels::gpu {
namespace {

// Keys in one piece.
bool is_whole(const AttentionHistory& history) {
  return history.kv_TC.empty();
}

int64_t columns_of_keys_and_values(const AttentionShape& shape) {
  return 2 * shape.kv_heads * shape.head_dim;
}

// Rows of all segments up to this one, sequence by sequence.
at::Tensor joined(const at::Tensor& qkv_TE, const AttentionHistory& history, const AttentionShape& shape) {
  std::vector<at::Tensor> parts_BSC;
  const auto add = [&](const at::Tensor& rows_TC) {
    parts_BSC.push_back(rows_TC.view({shape.sequences, rows_TC.size(0) / shape.sequences, rows_TC.size(1)}));
  };
  for (const at::Tensor& kv_TC : history.kv_TC) add(kv_TC);
  add(qkv_TE.narrow(1, shape.heads * shape.head_dim, columns_of_keys_and_values(shape)));
  return at::cat(parts_BSC, 1).flatten(0, 1);
}

struct Heads {
  Heads(const at::Tensor& qkv_TE, const AttentionHistory& history, const AttentionShape& shape)
      : q_BHSK(heads_of(qkv_TE, 0, shape.heads, shape)) {
    const bool whole = is_whole(history);
    const at::Tensor rows = whole ? qkv_TE : joined(qkv_TE, history, shape);
    const int64_t first = whole ? shape.heads : 0;
    k_BGLK = heads_of(rows, first, shape.kv_heads, shape);
    v_BGLK = heads_of(rows, first + shape.kv_heads, shape.kv_heads, shape);
  }

  int64_t queries() const { return q_BHSK.size(2); }
  int64_t keys() const { return k_BGLK.size(2); }

  at::Tensor q_BHSK, k_BGLK, v_BGLK;
};

at::Tensor rows_of(const at::Tensor& heads_BHSK) {
  return heads_BHSK.transpose(1, 2).flatten(2, 3).flatten(0, 1);
}

// Nothing is dropped, so there are no random numbers whose beginning a backward would have to know.
at::Tensor no_seed(const at::Tensor& like) {
  return at::empty({2}, like.options().dtype(at::kLong));
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

// Of whole sequences: LibTorch gives it no masks but those that begin with the first key.
struct CuDnn {
  static AttentionResult forward(const at::Tensor& qkv_TE, const AttentionHistory& history,
                                 const AttentionShape& shape) {
    const Heads heads(qkv_TE, history, shape);
    const auto made = at::_scaled_dot_product_cudnn_attention(heads.q_BHSK, heads.k_BGLK, heads.v_BGLK,
                                                              /*attn_bias=*/{}, /*compute_log_sumexp=*/true,
                                                              /*dropout_p=*/0, /*is_causal=*/true);
    return {.output_TA = rows_of(std::get<0>(made)), .log_sums = std::get<1>(made)};
  }

  static void backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                       const at::Tensor& by_later_TC, AttentionHistory& history,
                       const AttentionShape& shape) {
    const Heads heads(qkv_TE, history, shape);
    const at::Tensor seed = no_seed(qkv_TE);
    const OrderOfSums order(/*is_fixed=*/false);
    const auto [by_q, by_k, by_v] = at::_scaled_dot_product_cudnn_attention_backward(
        heads_of(doutput_TA, 0, shape.heads, shape), heads.q_BHSK, heads.k_BGLK, heads.v_BGLK,
        heads_of(result.output_TA, 0, shape.heads, shape), result.log_sums, seed, seed, /*attn_bias=*/{},
        /*cum_seq_q=*/{}, /*cum_seq_k=*/{}, heads.queries(), heads.keys(), /*dropout_p=*/0,
        /*is_causal=*/true);
    put_gradients(qkv_TE, by_q, by_k, by_v, by_later_TC, shape);
  }
};

// Where there are more keys than queries, this function's causal mask lets the last query see the last key
// and each one before one key less (torch/nn/attention/bias.py, CausalVariant.LOWER_RIGHT): as a segment's
// tokens do. A fixed order of sums takes memory for many of them.
template <bool kFixesOrder>
struct Flash {
  static AttentionResult forward(const at::Tensor& qkv_TE, const AttentionHistory& history,
                                 const AttentionShape& shape) {
    const Heads heads(qkv_TE, history, shape);
    const auto made = at::_scaled_dot_product_flash_attention(heads.q_BHSK, heads.k_BGLK, heads.v_BGLK,
                                                              /*dropout_p=*/0.0, /*is_causal=*/true);
    return {.output_TA = rows_of(std::get<0>(made)), .log_sums = std::get<1>(made)};
  }

  static void backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                       const at::Tensor& by_later_TC, AttentionHistory& history,
                       const AttentionShape& shape) {
    const Heads heads(qkv_TE, history, shape);
    const at::Tensor seed = no_seed(qkv_TE);
    const OrderOfSums order(kFixesOrder);
    const auto [by_q, by_k, by_v] = at::_scaled_dot_product_flash_attention_backward(
        heads_of(doutput_TA, 0, shape.heads, shape), heads.q_BHSK, heads.k_BGLK, heads.v_BGLK,
        heads_of(result.output_TA, 0, shape.heads, shape), result.log_sums, /*cum_seq_q=*/{},
        /*cum_seq_k=*/{}, heads.queries(), heads.keys(), /*dropout_p=*/0.0, /*is_causal=*/true, seed, seed);
    put_gradients(qkv_TE, by_q, hand_back(by_k, 0, history, shape), hand_back(by_v, 1, history, shape),
                  by_later_TC, shape);
  }
};

struct Plain {
  static constexpr auto forward = plain_attention_forward;
  static constexpr auto backward = plain_attention_backward;
};

// Whole sequences and first segments with the first, segments behind these with the other.
template <typename Whole, typename Behind>
AttentionKernels both() {
  return {.forward =
              [](const at::Tensor& qkv_TE, const AttentionHistory& history, const AttentionShape& shape) {
                return (is_whole(history) ? Whole::forward : Behind::forward)(qkv_TE, history, shape);
              },
          .backward =
              [](at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                 const at::Tensor& by_later_TC, AttentionHistory& history, const AttentionShape& shape) {
                (is_whole(history) ? Whole::backward : Behind::backward)(qkv_TE, doutput_TA, result,
                                                                         by_later_TC, history, shape);
              },
          .description = {}};
}

// With either of two kernels for segments behind the first one.
struct Candidate {
  const char* name;
  AttentionKernels with_flash;
  AttentionKernels with_plain;
};

// A whole sequence, or a segment behind others and before one that has made gradients.
struct Sample {
  at::Tensor qkv_TE;
  at::Tensor doutput_TA;
  at::Tensor by_later_TC;
  std::vector<at::Tensor> kv_TC;  // of the segments before
};

Sample sample_of(const std::vector<int64_t>& segments, const AttentionShape& shape,
                 const at::TensorOptions& options) {
  const int64_t tokens = segments.back();
  const int64_t columns = columns_of_keys_and_values(shape);
  const int64_t of_queries = shape.heads * shape.head_dim;
  Sample sample{.qkv_TE = at::randn({tokens, of_queries + columns}, options),
                .doutput_TA = at::randn({tokens, of_queries}, options),
                .by_later_TC = {},
                .kv_TC = {}};
  if (segments.size() == 1) return sample;
  sample.by_later_TC = at::randn({tokens, columns}, options.dtype(at::kFloat));
  for (std::size_t i = 0; i + 1 < segments.size(); ++i)
    sample.kv_TC.push_back(at::randn({segments[i], columns}, options));
  return sample;
}

// Output and gradients.
std::vector<at::Tensor> results_of(const AttentionKernels& kernels, const Sample& sample,
                                   const AttentionShape& shape) {
  AttentionHistory history{.kv_TC = sample.kv_TC};
  for (const at::Tensor& kv_TC : sample.kv_TC)
    history.kv_gradients_TC.push_back(at::zeros(kv_TC.sizes(), kv_TC.options().dtype(at::kFloat)));
  const AttentionResult result = kernels.forward(sample.qkv_TE, history, shape);
  at::Tensor gradient_TE = sample.qkv_TE.clone();
  kernels.backward(gradient_TE, sample.doutput_TA, result, sample.by_later_TC, history, shape);
  std::vector<at::Tensor> results = history.kv_gradients_TC;
  results.insert(results.begin(), {result.output_TA, gradient_TE});
  return results;
}

bool is_near(const at::Tensor& made, const at::Tensor& expected) {
  constexpr double kBf16Roundings = 8.0 / 256;
  return at::allclose(made.to(at::kFloat), expected.to(at::kFloat), kBf16Roundings, kBf16Roundings);
}

// Why the kernels may not be used for the last one of segments of so many tokens; empty: they may.
std::string objection_to(const AttentionKernels& kernels, const std::vector<int64_t>& segments,
                         const AttentionShape& shape, const at::TensorOptions& options) {
  try {
    const Sample sample = sample_of(segments, shape, options);
    const auto made = results_of(kernels, sample, shape);
    const auto expected = results_of(both<Plain, Plain>(), sample, shape);
    if (!is_near(made[0], expected[0])) return "its output is wrong";
    for (std::size_t i = 1; i < made.size(); ++i)
      if (!is_near(made[i], expected[i])) return "its gradients are wrong";
    return {};
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  }
}

AttentionKernels chosen_of(const Candidate& candidate, const std::string& objections,
                           const AttentionShape& shape, const at::TensorOptions& options) {
  const std::string objection = objection_to(candidate.with_flash, {40, 88, 128}, shape, options);
  AttentionKernels chosen = objection.empty() ? candidate.with_flash : candidate.with_plain;
  chosen.description = std::string("attention: ") + candidate.name + objections;
  if (!objection.empty())
    chosen.description +=
        "; segments behind the first one: plain products, which are slow; not flash: " + objection;
  return chosen;
}

}  // namespace

Result<std::string> wished_attention() {
  const char* const wanted = std::getenv("CARAVAN_ATTENTION");
  const std::string wish = wanted == nullptr ? "" : wanted;
  if (wish.empty() || wish == "cuDNN" || wish == "flash" || wish == "plain") return wish;
  return bad_input("CARAVAN_ATTENTION is '" + wish + "': take cuDNN, flash or plain, or leave it out");
}

AttentionKernels choose_attention(const std::string& wish, const AttentionShape& shape,
                                  at::ScalarType storage, at::Device device) {
  const Candidate candidates[] = {
      {"cuDNN", both<CuDnn, Flash</*kFixesOrder=*/false>>(), both<CuDnn, Plain>()},
      {"flash", both<Flash<true>, Flash<true>>(), both<Flash<true>, Plain>()}};
  const at::TensorOptions options = at::device(device).dtype(storage);
  std::string objections;
  for (const Candidate& candidate : candidates) {
    if (!wish.empty() && wish != candidate.name) continue;
    const std::string objection = storage == at::kBFloat16
                                      ? objection_to(candidate.with_flash, {128}, shape, options)
                                      : "it has no fp32";
    if (objection.empty()) return chosen_of(candidate, objections, shape, options);
    objections += std::string("; not ") + candidate.name + ": " + objection;
  }
  AttentionKernels chosen = both<Plain, Plain>();
  chosen.description = "attention: plain products, which are slow" + objections;
  return chosen;
}

}  // namespace caravan::kernels::gpu
