#include "planner/model/presets.h"

#include <algorithm>
#include <array>

namespace caravan::planner {
namespace {

enum class Rope { Llama2, Llama3, Llama31, Llama32 };

struct Row {
  std::string_view name;
  int hidden, layers, heads, kv_heads, ffn, vocab;
  bool tied;
  Rope rope;
  int positions = 0;  // 0: nobody trained it
};

constexpr std::array kRows = {
    Row{"llama-tiny", 64, 4, 4, 2, 176, 256, false, Rope::Llama2},
    Row{"llama-mini", 128, 8, 4, 2, 384, 256, false, Rope::Llama2},
    Row{"llama-small", 384, 12, 8, 4, 1024, 256, false, Rope::Llama2},
    Row{"llama3.2-1b", 2048, 16, 32, 8, 8192, 128256, true, Rope::Llama32, 131072},
    Row{"llama3.2-3b", 3072, 28, 24, 8, 8192, 128256, true, Rope::Llama32, 131072},
    Row{"llama2-7b", 4096, 32, 32, 32, 11008, 32000, false, Rope::Llama2, 4096},
    Row{"llama3-8b", 4096, 32, 32, 8, 14336, 128256, false, Rope::Llama3, 8192},
    Row{"llama3.1-8b", 4096, 32, 32, 8, 14336, 128256, false, Rope::Llama31, 131072},
    Row{"llama2-13b", 5120, 40, 40, 40, 13824, 32000, false, Rope::Llama2, 4096},
    Row{"llama2-70b", 8192, 80, 64, 8, 28672, 32000, false, Rope::Llama2, 4096},
    Row{"llama3-70b", 8192, 80, 64, 8, 28672, 128256, false, Rope::Llama3, 8192},
    Row{"llama3.1-70b", 8192, 80, 64, 8, 28672, 128256, false, Rope::Llama31, 131072},
    Row{"llama3.1-405b", 16384, 126, 128, 8, 53248, 128256, false, Rope::Llama31, 131072},
};

std::optional<RopeScaling> scaling_of(Rope rope) {
  if (rope == Rope::Llama31) return RopeScaling{.factor = 8};
  if (rope == Rope::Llama32) return RopeScaling{.factor = 32};
  return std::nullopt;
}

ModelShape shape_of(const Row& row) {
  return {.name = std::string(row.name),
          .hidden = row.hidden,
          .layers = row.layers,
          .heads = row.heads,
          .kv_heads = row.kv_heads,
          .head_dim = row.hidden / row.heads,
          .ffn = row.ffn,
          .vocab = row.vocab,
          .tied_embeddings = row.tied,
          .rope_theta = row.rope == Rope::Llama2 ? 10000.0 : 500000.0,
          .rope_scaling = scaling_of(row.rope),
          .positions = row.positions > 0 ? std::optional<int64_t>(row.positions) : std::nullopt};
}

}  // namespace

std::optional<ModelShape> find_preset(std::string_view name) {
  const auto* row = std::ranges::find(kRows, name, &Row::name);
  if (row == kRows.end()) return std::nullopt;
  return shape_of(*row);
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kRows));
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

}  // namespace caravan::planner
