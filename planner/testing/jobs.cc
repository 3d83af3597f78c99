#include "planner/testing/jobs.h"

#include "common/testing/sample.h"
#include "planner/search/split_layers.h"

namespace caravan::planner {
namespace {

v1alpha1::JobSpec job(const std::string& preset, int devices, int sequence_length, int sequences) {
  v1alpha1::JobSpec spec;
  spec.mutable_model()->set_preset(preset);
  spec.mutable_training()->set_steps(10);
  spec.mutable_training()->set_sequence_length(sequence_length);
  spec.mutable_training()->set_global_batch_sequences(sequences);
  spec.mutable_training()->set_precision(v1alpha1::Precision::BF16);
  spec.mutable_resources()->set_devices(devices);
  return spec;
}

constexpr std::size_t kManyJobs = 150;

// Numerical Recipes' linear congruential generator: the same numbers on every machine.
class Dice {
 public:
  int pick(std::initializer_list<int> choices) {
    state_ = state_ * 1664525U + 1013904223U;
    return *(choices.begin() + (state_ >> 16) % choices.size());
  }

 private:
  uint32_t state_ = 7;
};

}  // namespace

const EngineProfile& default_profile() {
  static const EngineProfile profile = default_engine_profile();
  return profile;
}

v1alpha1::JobSpec gpu_job(const std::string& preset, int devices, const std::string& product) {
  v1alpha1::JobSpec spec = job(preset, devices, 8192, 2048);
  spec.mutable_resources()->mutable_device()->set_kind(v1alpha1::Device::GPU);
  spec.mutable_resources()->mutable_device()->set_product(product);
  return spec;
}

v1alpha1::JobSpec cpu_job(const std::string& preset, int devices) {
  v1alpha1::JobSpec spec = job(preset, devices, 64, 24);
  spec.mutable_training()->set_precision(v1alpha1::Precision::FP32);
  spec.mutable_resources()->mutable_device()->set_kind(v1alpha1::Device::CPU);
  return spec;
}

PlanRequest request_of(const v1alpha1::JobSpec& spec) {
  return read_request(spec, {}).value();
}

Layout layout_of(const PlanRequest& request, int tensor, int pipeline, int data) {
  Layout layout;
  layout.mesh.tensor = tensor;
  layout.mesh.pipeline = pipeline;
  layout.mesh.data = data;
  layout.sequence_parallel = tensor > 1;
  layout.layers_per_stage = split_layers(request.shape.layers, pipeline, 0);
  return layout;
}

std::vector<v1alpha1::JobSpec> many_jobs() {
  const std::vector<std::string> presets = {"llama3.2-1b", "llama2-7b", "llama3-8b", "llama2-13b",
                                            "llama3-70b"};
  const std::vector<std::string> products = {"A100-40GB", "A100-80GB", "H100-80GB", "H200"};
  const test::Sample sample(10);
  Dice dice;
  std::vector<v1alpha1::JobSpec> jobs;
  for (std::size_t i = 0; i < kManyJobs; ++i) {
    v1alpha1::JobSpec spec =
        gpu_job(presets[dice.pick({0, 1, 2, 3, 4})], dice.pick({1, 2, 4, 6, 8, 16, 24, 64, 256}),
                products[dice.pick({0, 1, 2, 3})]);
    spec.mutable_training()->set_sequence_length(dice.pick({512, 2048, 8192, 32768}));
    spec.mutable_training()->set_global_batch_sequences(dice.pick({32, 96, 512, 1024}));
    v1alpha1::Parallelism& parallelism = *spec.mutable_parallelism();
    if (const int tensor = dice.pick({0, 0, 0, 1, 2, 8}); tensor > 0) parallelism.set_tensor(tensor);
    if (const int pipeline = dice.pick({0, 0, 0, 1, 2, 3}); pipeline > 0) parallelism.set_pipeline(pipeline);
    if (const int size = dice.pick({0, 0, 1, 2}); size > 0) parallelism.set_micro_batch_size(size);
    if (dice.pick({0, 0, 0, 1}) == 1) parallelism.set_schedule("GPipe");
    parallelism.set_activation_checkpointing(
        static_cast<v1alpha1::ActivationCheckpointing::Value>(dice.pick({1, 1, 2, 3})));
    if (sample.takes(i)) jobs.push_back(spec);
  }
  return jobs;
}

std::vector<v1alpha1::JobSpec> few_jobs() {
  std::vector<v1alpha1::JobSpec> jobs = many_jobs();
  jobs.resize(jobs.size() / 3);
  return jobs;
}

}  // namespace caravan::planner
