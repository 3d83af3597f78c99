// gpu_kernels TOKENS HIDDEN FFN VOCABULARY HEAD_DIM LOSS_TOKENS SECONDS: our kernels for GPUs, each started
// alone again and again.
//
// Prints a JSON array: of each kernel the seconds of one start and the bytes that it must move at least,
// every input read once and every output written once. Values are random: a device is faster on zeros. The
// same source times the emulation, as gpu_kernels_emulated, where the figures mean nothing but that it runs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker/trainer/cuda/adamw.h"
#include "worker/trainer/cuda/cross_entropy.h"
#include "worker/trainer/cuda/embedding.h"
#include "worker/trainer/cuda/gradient_norm.h"
#include "worker/trainer/cuda/rms_norm.h"
#include "worker/trainer/cuda/rope.h"
#include "worker/trainer/cuda/swiglu.h"
#include "worker/trainer/cuda/testing/arrays.h"
#include "worker/trainer/cuda/testing/device.h"
#include "worker/trainer/kernels/cross_entropy_statistics.h"

namespace caravan::cuda {
namespace {

constexpr Storage kBf16 = Storage::BFloat16;
constexpr Storage kFp32 = Storage::Float32;
constexpr std::int64_t kBlock = std::int64_t{1} << 20;  // values that are made and repeated

struct Sizes {
  std::int64_t tokens, hidden, ffn, vocabulary;
  std::int64_t head_dim, loss_tokens;  // of a chunk
  double seconds;
};

struct Timed {
  std::string name;
  std::int64_t bytes;
  std::function<LaunchResult()> launch;
};

void write(void* start, std::int64_t count, std::span<const float> block, Storage storage) {
  const std::size_t size = testing::bytes_of(storage);
  std::vector<unsigned char> bytes(block.size() * size);
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto bits = __builtin_bit_cast(std::uint32_t, block[i]);
    const std::uint32_t kept = storage == kBf16 ? bits >> 16U : bits;  // stored() has rounded
    std::copy_n(reinterpret_cast<const unsigned char*>(&kept), size, &bytes[i * size]);
  }
  for (std::int64_t done = 0; done < count; done += static_cast<std::int64_t>(block.size())) {
    const auto some = static_cast<std::size_t>(std::min<std::int64_t>(count - done, std::ssize(block)));
    testing::copy_to_device(static_cast<unsigned char*>(start) + static_cast<std::size_t>(done) * size,
                            bytes.data(), some * size);
  }
}

class Buffer {
 public:
  Buffer(Storage storage, std::int64_t count)
      : data_(testing::device_allocate(static_cast<std::size_t>(count) * testing::bytes_of(storage))) {
    write(data_, count, testing::random_values(storage, std::min(count, kBlock), 7), storage);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { testing::device_free(data_); }

  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }

 private:
  void* const data_;
};

void wait_for_device(const Buffer& any) {
  float value = 0;
  testing::copy_from_device(&value, any.data(), sizeof value);
}

double seconds_of(const Timed& timed, const Buffer& any, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto run = [&](int times) {
    wait_for_device(any);
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) {
      if (const LaunchResult result = timed.launch(); !result.ok())
        throw std::runtime_error(timed.name + ": " + result.error);
    }
    wait_for_device(any);
    return std::chrono::duration<double>(Clock::now() - begin).count() / times;
  };
  run(3);
  const double once = run(3);
  return run(static_cast<int>(std::clamp(seconds / once, 3.0, 1000.0)));
}

void print(const std::vector<Timed>& all, const Buffer& any, double seconds, bool& first) {
  for (const Timed& timed : all) {
    const double each = seconds_of(timed, any, seconds);
    fmt::print("{}{{\"kernel\": \"{}\", \"seconds\": {:.9f}, \"bytes\": {}, \"gigabytesPerSecond\": {:.3f}}}",
               first ? "" : ",\n ", timed.name, each, timed.bytes,
               static_cast<double>(timed.bytes) / each / 1e9);
    first = false;
  }
}

void time_rows(const Sizes& sizes, bool& first) {
  const std::int64_t hidden = sizes.tokens * sizes.hidden;
  const Buffer x(kBf16, hidden), residual(kBf16, hidden), output(kBf16, hidden), weight(kBf16, sizes.hidden);
  const Buffer scale(kFp32, sizes.tokens), dw(kFp32, sizes.hidden),
      partial(kFp32, kRmsNormPartialRows * sizes.hidden);
  const Buffer table(kFp32, sizes.tokens * sizes.head_dim);
  const AddRmsNorm norm{.storage = kBf16,
                        .rows = sizes.tokens,
                        .columns = sizes.hidden,
                        .epsilon = 1e-5F,
                        .residual = residual.data(),
                        .x = x.data(),
                        .weight = weight.data(),
                        .output = output.data(),
                        .scale = scale.floats()};
  const RmsNormBackward backward{.storage = kBf16,
                                 .rows = sizes.tokens,
                                 .columns = sizes.hidden,
                                 .gradient = output.data(),
                                 .residual_gradient = residual.data(),
                                 .x = x.data(),
                                 .weight = weight.data(),
                                 .scale = scale.floats(),
                                 .weight_gradient = dw.floats(),
                                 .partial = partial.floats()};
  const Rope rotation{.storage = kBf16,
                      .rotation = Rotation::Forward,
                      .rows = sizes.tokens,
                      .row_size = sizes.hidden,
                      .heads = sizes.hidden / sizes.head_dim,
                      .head_dim = sizes.head_dim,
                      .sequence_length = sizes.tokens,
                      .values = x.data(),
                      .table = table.floats()};
  print(
      {{"add_rms_norm", std::int64_t{8} * hidden, [&] { return add_rms_norm(norm, nullptr); }},
       {"rms_norm_backward", std::int64_t{8} * hidden, [&] { return rms_norm_backward(backward, nullptr); }},
       {"rope", std::int64_t{4} * hidden, [&] { return rope(rotation, nullptr); }}},
      x, sizes.seconds, first);
}

void time_gates(const Sizes& sizes, bool& first) {
  const std::int64_t gated = sizes.tokens * sizes.ffn;
  const Buffer gate_up(kBf16, 2 * gated), output(kBf16, gated);
  const SwigluForward forward{.storage = kBf16,
                              .rows = sizes.tokens,
                              .columns = sizes.ffn,
                              .gate_up = gate_up.data(),
                              .output = output.data()};
  const SwigluBackward backward{.storage = kBf16,
                                .rows = sizes.tokens,
                                .columns = sizes.ffn,
                                .gate_up = gate_up.data(),
                                .gradient = output.data()};
  print({{"swiglu_forward", std::int64_t{6} * gated, [&] { return swiglu_forward(forward, nullptr); }},
         {"swiglu_backward", std::int64_t{12} * gated, [&] { return swiglu_backward(backward, nullptr); }}},
        output, sizes.seconds, first);
}

void time_update(const Sizes& sizes, bool& first) {
  const std::int64_t elements = sizes.hidden * sizes.ffn;
  const Buffer weights(kFp32, elements), gradients(kFp32, elements), m(kFp32, elements), v(kFp32, elements);
  const Buffer values(kBf16, elements);
  const testing::DeviceArray<double> partial(std::vector<double>(kSquaredNormParts, 0.0)), sum({0.0});
  const AdamW update{.elements = elements,
                     .weights = weights.floats(),
                     .gradients = gradients.floats(),
                     .moments = kFp32,
                     .first_moment = m.data(),
                     .second_moment = v.data(),
                     .bf16_weights = values.data(),
                     .gradient_scale = 1,
                     .learning_rate = 1e-4,
                     .beta1 = 0.9,
                     .beta2 = 0.95,
                     .epsilon = 1e-8,
                     .weight_decay = 0.1,
                     .step = 1,
                     .rounding_key = 1,
                     .numbers = {}};
  const SquaredNorm norm{
      .elements = elements, .values = weights.floats(), .partial = partial.data(), .sum = sum.data()};
  print({{"adamw", 34 * elements, [&] { return adamw(update, nullptr); }},
         {"squared_norm", 4 * elements, [&] { return squared_norm(norm, nullptr); }}},
        weights, sizes.seconds, first);
}

std::vector<std::int64_t> scattered_ids(std::int64_t tokens, std::int64_t vocabulary) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(tokens));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * 7919) % vocabulary;
  return ids;
}

void time_embedding(const Sizes& sizes, bool& first) {
  const std::int64_t values = sizes.tokens * sizes.hidden;
  const std::vector<std::int64_t> ids = scattered_ids(sizes.tokens, sizes.vocabulary);
  std::vector<std::int32_t> rows(ids.size()), starts(ids.size() + 1), positions(ids.size());
  embedding_order(ids.data(), sizes.tokens, 0, sizes.vocabulary,
                  {rows.data(), starts.data(), positions.data()});
  const testing::DeviceArray<std::int64_t> token(ids);
  const testing::DeviceArray<std::int32_t> row(rows), start(starts), position(positions);
  const Buffer table(kBf16, sizes.vocabulary * sizes.hidden), output(kBf16, values),
      table_gradient(kFp32, sizes.vocabulary * sizes.hidden);
  const EmbeddingForward forward{.storage = kBf16,
                                 .tokens = sizes.tokens,
                                 .columns = sizes.hidden,
                                 .vocabulary = sizes.vocabulary,
                                 .first_token = 0,
                                 .token = token.data(),
                                 .table = table.data(),
                                 .output = output.data()};
  const EmbeddingBackward backward{.storage = kBf16,
                                   .tokens = sizes.tokens,
                                   .columns = sizes.hidden,
                                   .order = {row.data(), start.data(), position.data()},
                                   .gradient = output.data(),
                                   .table_gradient = table_gradient.floats()};
  print({{"embedding_forward", 4 * values, [&] { return embedding_forward(forward, nullptr); }},
         {"embedding_backward", 10 * values, [&] { return embedding_backward(backward, nullptr); }}},
        output, sizes.seconds, first);
}

void time_loss(const Sizes& sizes, bool& first) {
  const std::int64_t tokens = sizes.loss_tokens;
  const std::int64_t values = tokens * sizes.vocabulary;
  constexpr std::int64_t kStatisticsBytes =
      8 + 2 + 3 * 4 + 2 * 4;  // a token's target, its logit, read, written
  const Buffer logits(kBf16, values), statistics(kFp32, kernels::kStatistics * tokens);
  const testing::DeviceArray<std::int64_t> targets(scattered_ids(tokens, sizes.vocabulary));
  CrossEntropyChunk chunk{};
  chunk.storage = kBf16;
  chunk.tokens = tokens;
  chunk.vocabulary = sizes.vocabulary;
  chunk.logits = logits.data();
  chunk.targets = targets.data();
  chunk.statistics = statistics.floats();
  print(
      {{"cross_entropy_maxima", 2 * values, [&] { return cross_entropy_maxima(chunk, nullptr); }},
       {"cross_entropy_sums", kStatisticsBytes * tokens, [&] { return cross_entropy_sums(chunk, nullptr); }},
       {"cross_entropy_gradient", 4 * values, [&] { return cross_entropy_gradient(chunk, 1e-4F, nullptr); }}},
      logits, sizes.seconds, first);
}

void time_all(const Sizes& sizes) {
  bool first = true;
  fmt::print("[");
  for (const auto part : {time_rows, time_gates, time_update, time_embedding, time_loss}) part(sizes, first);
  fmt::print("]\n");
}

}  // namespace
}  // namespace caravan::cuda

int main(int argc, char** argv) {
  if (argc != 8) {
    fmt::print(stderr, "usage: gpu_kernels TOKENS HIDDEN FFN VOCABULARY HEAD_DIM LOSS_TOKENS SECONDS\n");
    return 2;
  }
  try {
    if (const auto missing = caravan::cuda::testing::missing_device()) throw std::runtime_error(*missing);
    caravan::cuda::time_all({std::atoll(argv[1]), std::atoll(argv[2]), std::atoll(argv[3]),
                             std::atoll(argv[4]), std::atoll(argv[5]), std::atoll(argv[6]),
                             std::atof(argv[7])});
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpu_kernels: {}\n", error.what());
    return 1;
  }
  return 0;
}
