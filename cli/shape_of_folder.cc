#include "cli/shape_of_folder.h"

#include <fmt/format.h>

#include "checkpoint/folder/weights_folder.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/config.h"
#include "common/json.h"
#include "planner/plan.h"

namespace caravan::cli {
namespace {

v1alpha1::Architecture architecture_of(const planner::ModelShape& shape) {
  v1alpha1::Architecture architecture;
  architecture.set_hidden_size(static_cast<int>(shape.hidden));
  architecture.set_layers(static_cast<int>(shape.layers));
  architecture.set_heads(static_cast<int>(shape.heads));
  architecture.set_kv_heads(static_cast<int>(shape.kv_heads));
  architecture.set_head_dim(static_cast<int>(shape.head_dim));
  architecture.set_ffn_size(static_cast<int>(shape.ffn));
  architecture.set_vocab_size(static_cast<int>(shape.vocab));
  architecture.set_tied_embeddings(shape.tied_embeddings);
  architecture.set_rope_theta(json_number(shape.rope_theta));
  architecture.set_norm_eps(json_number(shape.norm_eps));
  if (shape.rope_scaling) {
    v1alpha1::RopeScaling& scaling = *architecture.mutable_rope_scaling();
    scaling.set_factor(json_number(shape.rope_scaling->factor));
    scaling.set_low_frequency_factor(json_number(shape.rope_scaling->low_frequency_factor));
    scaling.set_high_frequency_factor(json_number(shape.rope_scaling->high_frequency_factor));
    scaling.set_original_positions(static_cast<int>(shape.rope_scaling->original_positions));
  }
  return architecture;
}

tl::unexpected<Error> in_path(const std::string& message) {
  return bad_input("spec.model.initFrom.path: " + message);
}

}  // namespace

Status take_shape_of_folder(v1alpha1::Model& model) {
  const v1alpha1::InitFrom& from = model.init_from();
  if (!model.has_init_from() || !from.claim_name().empty()) return {};
  const auto folder = checkpoint::WeightsFolder::open(from.path());
  if (!folder) return in_path(folder.error().message);
  if (model.preset().empty() && !model.has_architecture()) {
    *model.mutable_architecture() = architecture_of(folder->model());
    return {};
  }
  const Result<planner::ModelShape> given = planner::resolve_model_shape(model);
  if (!given) return tl::unexpected(given.error());
  const std::string other = checkpoint::difference(folder->model(), *given, checkpoint::kConfigFile);
  if (other.empty()) return {};
  return in_path(fmt::format("{}: {}; leave {} out, and the folder gives the shape", from.path(), other,
                             model.preset().empty() ? "architecture" : "preset"));
}

}  // namespace caravan::cli
