#include <fmt/format.h>
#include <fmt/ranges.h>

#include <initializer_list>
#include <string>

#include "common/decimal.h"
#include "planner/model/presets.h"
#include "planner/plan.h"

namespace caravan::planner {
namespace {

struct DecimalField {
  const char* name;
  const std::string& text;
  double& value;
};

// What is absent keeps its default.
Status read_decimals(std::initializer_list<DecimalField> fields) {
  for (const auto& [name, text, value] : fields) {
    if (text.empty()) continue;
    const auto number = parse_decimal(text);
    if (!number)
      return bad_input(fmt::format("spec.model.architecture.{}: {}", name, number.error().message));
    value = *number;
  }
  return {};
}

Status read_rope_and_norm(const v1alpha1::Architecture& architecture, ModelShape& shape) {
  Status read = read_decimals({{"ropeTheta", architecture.rope_theta(), shape.rope_theta},
                               {"normEps", architecture.norm_eps(), shape.norm_eps}});
  if (!read || !architecture.has_rope_scaling()) return read;
  const v1alpha1::RopeScaling& given = architecture.rope_scaling();
  RopeScaling& scaling = shape.rope_scaling.emplace();
  if (given.has_original_positions()) scaling.original_positions = given.original_positions();
  return read_decimals(
      {{"ropeScaling.factor", given.factor(), scaling.factor},
       {"ropeScaling.lowFrequencyFactor", given.low_frequency_factor(), scaling.low_frequency_factor},
       {"ropeScaling.highFrequencyFactor", given.high_frequency_factor(), scaling.high_frequency_factor}});
}

Status check_heads(const ModelShape& shape, bool has_head_dim) {
  const std::string path = "spec.model.architecture.";
  if (shape.heads % shape.kv_heads != 0) {
    return bad_input(fmt::format("{}kvHeads: heads must be divisible by kvHeads; heads is {}, kvHeads is {}",
                                 path, shape.heads, shape.kv_heads));
  }
  if (!has_head_dim && shape.hidden % shape.heads != 0) {
    return bad_input(
        fmt::format("{}heads: hiddenSize must be divisible by heads when headDim is absent; hiddenSize is "
                    "{}, heads is {}",
                    path, shape.hidden, shape.heads));
  }
  if (shape.head_dim % 2 != 0) {
    return bad_input(fmt::format("{}headDim: headDim must be even: rotary embeddings turn pairs; it is {}",
                                 path, shape.head_dim));
  }
  return {};
}

Status check_sizes(const v1alpha1::Architecture& architecture) {
  const std::pair<const char*, int> sizes[] = {
      {"hiddenSize", architecture.hidden_size()},
      {"layers", architecture.layers()},
      {"heads", architecture.heads()},
      {"ffnSize", architecture.ffn_size()},
      {"vocabSize", architecture.vocab_size()},
      {"kvHeads", architecture.has_kv_heads() ? architecture.kv_heads() : 1},
      {"headDim", architecture.has_head_dim() ? architecture.head_dim() : 1}};
  for (const auto& [name, value] : sizes) {
    if (value < 1)
      return bad_input(fmt::format("spec.model.architecture.{}: must be at least 1; it is {}", name, value));
  }
  return {};
}

Result<ModelShape> custom_shape(const v1alpha1::Architecture& architecture) {
  if (auto status = check_sizes(architecture); !status) return tl::unexpected(status.error());
  ModelShape shape;
  shape.name = "custom";
  shape.hidden = architecture.hidden_size();
  shape.layers = architecture.layers();
  shape.heads = architecture.heads();
  shape.kv_heads = architecture.has_kv_heads() ? architecture.kv_heads() : architecture.heads();
  shape.head_dim = architecture.has_head_dim() ? architecture.head_dim()
                                               : architecture.hidden_size() / architecture.heads();
  shape.ffn = architecture.ffn_size();
  shape.vocab = architecture.vocab_size();
  shape.tied_embeddings = architecture.tied_embeddings();
  if (auto status = read_rope_and_norm(architecture, shape); !status) return tl::unexpected(status.error());
  if (auto status = check_heads(shape, architecture.has_head_dim()); !status)
    return tl::unexpected(status.error());
  return shape;
}

// A preset with the vocabulary of the user's own tokenizer, if one is given.
Result<ModelShape> preset_shape(const v1alpha1::Model& model) {
  auto shape = find_preset(model.preset());
  if (!shape) {
    return bad_input(fmt::format("spec.model.preset: no preset is named \"{}\"; the presets are {}",
                                 model.preset(), fmt::join(preset_names(), ", ")));
  }
  if (!model.has_vocab_size()) return *std::move(shape);
  if (model.vocab_size() < 1)
    return bad_input(fmt::format("spec.model.vocabSize: must be at least 1; it is {}", model.vocab_size()));
  shape->vocab = model.vocab_size();
  return *std::move(shape);
}

}  // namespace

Result<ModelShape> resolve_model_shape(const v1alpha1::Model& model) {
  if (model.has_architecture()) return custom_shape(model.architecture());
  if (model.preset().empty() && model.has_init_from()) {
    return bad_input(
        "spec.model: the shape stands in the folder of initFrom, which is not at hand where this job is "
        "planned; set preset or architecture too");
  }
  if (model.preset().empty())
    return bad_input("spec.model: exactly one of preset and architecture must be set");
  return preset_shape(model);
}

}  // namespace caravan::planner
