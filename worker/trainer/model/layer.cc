#include "worker/trainer/model/layer.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "worker/trainer/kernels/linear.h"
#include "worker/trainer/kernels/rms_norm.h"
#include "worker/trainer/kernels/swiglu.h"
#include "worker/trainer/trace/span.h"

namespace caravan::trainer {
namespace {

using kernels::add_rms_norm;
using kernels::linear_backward_input;
using kernels::linear_backward_weight;
using kernels::linear_forward;
using kernels::Normed;
using kernels::rms_norm;
using kernels::rms_norm_apply;
using kernels::rms_norm_backward;

std::string full_name(int layer, const char* name) {
  return fmt::format("layers.{}.{}", layer, name);
}

ParameterView weight(const ParameterStore& store, int layer, const char* name) {
  return store.view(full_name(layer, name));
}

void run_or_queue(WeightGradientQueue* queue, std::function<void()> work) {
  if (queue == nullptr) {
    work();
  } else {
    queue->push_back(std::move(work));
  }
}

}  // namespace

void LayerSaved::drop(planner::RecomputedPart part) {
  if (part == planner::RecomputedPart::Mlp) return gate_up_T2F.reset();
  LayerSaved rest;
  rest.input_TD = std::move(input_TD);
  *this = std::move(rest);
}

Layer::Layer(const ParameterStore& store, int index, Settings settings, const TensorRegion& region)
    : settings_(std::move(settings)),
      region_(region),
      bucket_(store.layout.find(full_name(index, "qkv")).bucket),
      attention_norm_D(weight(store, index, "attention_norm")),
      qkv_ED(weight(store, index, "qkv")),
      output_DA(weight(store, index, "output")),
      mlp_norm_D(weight(store, index, "mlp_norm")),
      gate_up_2FD(weight(store, index, "gate_up")),
      down_DF(weight(store, index, "down")) {}

void Layer::rotate(at::Tensor& qkv_TE, const kernels::AttentionHistory& history,
                   kernels::Rotation rotation) const {
  const kernels::AttentionShape& shape = settings_.attention;
  const at::Tensor positions_SK =
      settings_.rope_table_SK.narrow(0, history.rows() / shape.sequences, qkv_TE.size(0) / shape.sequences);
  kernels::rope_apply(qkv_TE, positions_SK, shape.heads + shape.kv_heads, rotation);
}

at::Tensor Layer::keys_and_values(const LayerSaved& saved) const {
  return kernels::keys_and_values(saved.qkv_TE, settings_.attention);
}

LayerSaved Layer::run_to_saved(at::Tensor input_TD, const kernels::AttentionHistory& history) const {
  LayerSaved saved;
  saved.input_TD = std::move(input_TD);
  Normed attention_input = rms_norm(saved.input_TD, attention_norm_D.value, settings_.norm_eps);
  saved.attention_scale_T = std::move(attention_input.scale_T);
  saved.qkv_TE = linear_forward(region_.enter(std::move(attention_input.y_TD)), qkv_ED.value);
  rotate(saved.qkv_TE, history, kernels::Rotation::Forward);
  saved.attention = kernels::attention_forward(saved.qkv_TE, history, settings_.attention);
  saved.middle_TD = region_.leave(linear_forward(saved.attention.output_TA, output_DA.value));
  Normed mlp_input = add_rms_norm(saved.middle_TD, saved.input_TD, mlp_norm_D.value, settings_.norm_eps);
  saved.mlp_scale_T = std::move(mlp_input.scale_T);
  saved.gate_up_T2F = gate_up(std::move(mlp_input.y_TD));
  return saved;
}

at::Tensor Layer::gate_up(at::Tensor normed_TD) const {
  return linear_forward(region_.enter(std::move(normed_TD)), gate_up_2FD.value);
}

// Makes again what was dropped.
LayerSaved Layer::complete(LayerSaved saved, const kernels::AttentionHistory& history) const {
  if (!saved.qkv_TE.defined()) return run_to_saved(std::move(saved.input_TD), history);
  if (!saved.gate_up_T2F.defined())
    saved.gate_up_T2F = gate_up(rms_norm_apply(saved.middle_TD, mlp_norm_D.value, saved.mlp_scale_T));
  return saved;
}

at::Tensor Layer::output(const LayerSaved& saved) const {
  at::Tensor partial_TD = linear_forward(kernels::swiglu_forward(saved.gate_up_T2F), down_DF.value);
  at::Tensor output_TD = region_.leave(std::move(partial_TD));
  const KernelSpan span("add_residual");
  output_TD.add_(saved.middle_TD);
  return output_TD;
}

at::Tensor Layer::backward(LayerSaved saved, at::Tensor gradient_TD, kernels::AttentionHistory& history,
                           WeightGradientQueue* queue) const {
  at::Tensor by_later_TC = history.begin_backward();
  saved = complete(std::move(saved), history);
  gradient_TD = mlp_backward(saved, std::move(gradient_TD), queue);
  return attention_backward(saved, std::move(gradient_TD), std::move(by_later_TC), history, queue);
}

// From the gradient by the output to the gradient by the middle.
at::Tensor Layer::mlp_backward(LayerSaved& saved, at::Tensor gradient_TD, WeightGradientQueue* queue) const {
  at::Tensor all_gradient_TD = region_.enter(gradient_TD);
  at::Tensor gated_TF = linear_backward_input(all_gradient_TD, down_DF.value);
  at::Tensor gate_up_T2F = std::move(saved.gate_up_T2F);
  kernels::swiglu_backward(gate_up_T2F, gated_TF);
  at::Tensor down_gradient = down_DF.gradient;
  linear_backward_weight(all_gradient_TD, gated_TF, down_gradient);
  all_gradient_TD.reset();
  gated_TF.reset();
  run_or_queue(queue, [this, dy = gate_up_T2F, middle = saved.middle_TD, scale = saved.mlp_scale_T]() {
    at::Tensor dw = gate_up_2FD.gradient;
    linear_backward_weight(dy, region_.enter(rms_norm_apply(middle, mlp_norm_D.value, scale)), dw);
  });
  at::Tensor normed_gradient_TD = linear_backward_input(gate_up_T2F, gate_up_2FD.value);
  gate_up_T2F.reset();
  at::Tensor middle_gradient_TD = region_.leave(std::move(normed_gradient_TD));
  at::Tensor norm_gradient = mlp_norm_D.gradient;
  rms_norm_backward(middle_gradient_TD, saved.middle_TD, mlp_norm_D.value, saved.mlp_scale_T, gradient_TD,
                    norm_gradient);
  gradient_TD.reset();
  saved.middle_TD.reset();
  saved.mlp_scale_T.reset();
  return middle_gradient_TD;
}

// From the gradient by the middle to the gradient by the input.
at::Tensor Layer::attention_backward(LayerSaved& saved, at::Tensor gradient_TD, at::Tensor by_later_TC,
                                     kernels::AttentionHistory& history, WeightGradientQueue* queue) const {
  at::Tensor all_gradient_TD = region_.enter(gradient_TD);
  at::Tensor output_gradient = output_DA.gradient;
  linear_backward_weight(all_gradient_TD, saved.attention.output_TA, output_gradient);
  at::Tensor heads_gradient_TA = linear_backward_input(all_gradient_TD, output_DA.value);
  all_gradient_TD.reset();
  at::Tensor qkv_TE = std::move(saved.qkv_TE);
  if (!by_later_TC.defined()) history.make_gradients();
  kernels::attention_backward(qkv_TE, heads_gradient_TA, saved.attention, by_later_TC, history,
                              settings_.attention);
  heads_gradient_TA.reset();
  saved.attention = {};
  by_later_TC.reset();
  rotate(qkv_TE, history, kernels::Rotation::Backward);
  run_or_queue(queue, [this, dy = qkv_TE, input = saved.input_TD, scale = saved.attention_scale_T]() {
    at::Tensor dw = qkv_ED.gradient;
    linear_backward_weight(dy, region_.enter(rms_norm_apply(input, attention_norm_D.value, scale)), dw);
  });
  at::Tensor normed_gradient_TD = linear_backward_input(qkv_TE, qkv_ED.value);
  qkv_TE.reset();
  at::Tensor input_gradient_TD = region_.leave(std::move(normed_gradient_TD));
  at::Tensor norm_gradient = attention_norm_D.gradient;
  rms_norm_backward(input_gradient_TD, saved.input_TD, attention_norm_D.value, saved.attention_scale_T,
                    gradient_TD, norm_gradient);
  return input_gradient_TD;
}

}  // namespace caravan::trainer
