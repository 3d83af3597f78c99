#include "cli/shape_of_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/folder/checkpoint.h"
#include "checkpoint/folder/store.h"
#include "checkpoint/folder/volume.h"
#include "checkpoint/folder/weights_folder.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/config.h"
#include "cli/yaml_reader.h"
#include "common/json.h"
#include "common/schema/loader.h"
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

// What a job file could not say, a folder cannot say either.
Status check_bounds(const v1alpha1::Architecture& architecture) {
  const Result<schema::Node> tree = read_yaml(to_json(architecture), checkpoint::kConfigFile);
  if (!tree) return tl::unexpected(tree.error());
  v1alpha1::Architecture read;
  std::vector<std::string> mistakes;
  for (const schema::Diagnostic& error : schema::load_message(*tree, read).errors)
    mistakes.push_back(fmt::format("{}: {}: {}", checkpoint::kConfigFile, error.path, error.text));
  return mistakes.empty() ? Status{} : bad_input(fmt::format("{}", fmt::join(mistakes, "\n")));
}

struct OwnCheckpoints {
  std::unique_ptr<checkpoint::Volume> volume;
  std::vector<int> steps = {};  // newest first; empty: the job begins
};

// What cannot be looked at here is told by the ranks.
OwnCheckpoints checkpoints_of(const v1alpha1::Checkpoint& place) {
  OwnCheckpoints own;
  if (place.path().empty() || !place.claim_name().empty()) return own;
  auto volume = checkpoint::open_volume(place.path());
  if (!volume) return own;
  own.volume = *std::move(volume);
  own.steps = checkpoint::committed_steps(*own.volume).value_or(own.steps);
  return own;
}

// Of the newest that can be read, as the ranks go on from it.
Result<v1alpha1::Architecture> architecture_of(const OwnCheckpoints& own) {
  std::string newest;
  for (const int step : own.steps) {
    const auto opened = checkpoint::Checkpoint::open(*own.volume, step);
    if (opened) return architecture_of(opened->model());
    if (newest.empty()) newest = opened.error().message;
  }
  return bad_input("spec.checkpoint.path: " + newest);
}

Result<v1alpha1::Architecture> architecture_of(const std::string& path, checkpoint::WeightsFolder& folder) {
  const v1alpha1::Architecture architecture = architecture_of(folder.model());
  if (Status right = check_bounds(architecture); !right)
    return bad_input(fmt::format("{}: {}", path, right.error().message));
  if (Status right = folder.check_all(); !right) return tl::unexpected(right.error());
  return architecture;
}

bool says_its_shape(const v1alpha1::Model& model) {
  return !model.preset().empty() || model.has_architecture();
}

// The fields of the job that give the shape.
std::string fields_of_shape(const v1alpha1::Model& model) {
  if (model.preset().empty()) return "architecture";
  return model.has_vocab_size() ? "preset and vocabSize" : "preset";
}

Status agree(const planner::ModelShape& folder, const v1alpha1::Model& model) {
  const Result<planner::ModelShape> given = planner::resolve_model_shape(model);
  if (!given) return tl::unexpected(given.error());
  const std::string other = checkpoint::difference(folder, *given, checkpoint::kConfigFile);
  if (other.empty()) return {};
  return bad_input(
      fmt::format("{}; leave {} out, and the folder gives the shape", other, fields_of_shape(model)));
}

}  // namespace

Status take_shape_of_folder(v1alpha1::JobSpec& spec) {
  v1alpha1::Model& model = *spec.mutable_model();
  const std::string& path = model.init_from().path();
  if (!model.has_init_from() || !model.init_from().claim_name().empty()) return {};
  if (const OwnCheckpoints own = checkpoints_of(spec.checkpoint()); !own.steps.empty()) {
    if (says_its_shape(model)) return {};
    return architecture_of(own).map([&](const auto& shape) { *model.mutable_architecture() = shape; });
  }
  auto folder = checkpoint::WeightsFolder::open(path);
  if (!folder) return in_path(folder.error().message);
  const Result<v1alpha1::Architecture> architecture = architecture_of(path, *folder);
  if (!architecture) return in_path(architecture.error().message);
  if (says_its_shape(model)) {
    const Status same = agree(folder->model(), model);
    return same ? same : in_path(fmt::format("{}: {}", path, same.error().message));
  }
  *model.mutable_architecture() = *architecture;
  return {};
}

}  // namespace caravan::cli
