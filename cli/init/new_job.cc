#include "cli/init/new_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/init/annotated_yaml.h"
#include "cli/init/training_sizes.h"
#include "cli/run/device_facts.h"
#include "common/quantity.h"
#include "common/readable_integer.h"
#include "common/schema/field_rules.h"
#include "planner/device/catalogue.h"
#include "planner/engine_profile.h"
#include "planner/plan.h"

namespace caravan::cli {
namespace {

using v1alpha1::JobSpec;

constexpr int64_t kLeastWorkerMemory = int64_t{1} << 30;
constexpr int64_t kMostWorkerMemory = int64_t{1} << 40;

// The only value that the field may have.
std::string only_choice(const char* field) {
  const auto& type = *v1alpha1::LlamaTrainingJob::descriptor();
  return schema::choices_of(*schema::find_field(type, field)).front();
}

std::string name_of(const JobWish& wish) {
  std::string name = wish.name.empty() ? wish.preset : wish.name;
  if (wish.name.empty()) std::ranges::replace(name, '.', '-');
  return name;
}

Status fill_model(const JobWish& wish, NewJob& made) {
  v1alpha1::Model& model = *made.job.mutable_spec()->mutable_model();
  model.set_preset(wish.preset);
  const int64_t own = planner::resolve_model_shape(model)->vocab;
  const int64_t needed = wish.tokens ? wish.tokens->largest_id + 1 : 0;
  if (wish.vocab_size) {
    if (*wish.vocab_size < needed) {
      return bad_input(fmt::format("--vocab-size: {} has tokens up to {}; give {} or more", wish.data,
                                   wish.tokens->largest_id, needed));
    }
    if (*wish.vocab_size != own) model.set_vocab_size(*wish.vocab_size);
  } else if (needed > own) {
    model.set_vocab_size(static_cast<int>(needed));
    made.notes.push_back(fmt::format(
        "vocabSize is {} for the largest token of {}; give --vocab-size where the tokenizer has more",
        model.vocab_size(), wish.data));
  }
  return {};
}

void fill_data(const JobWish& wish, JobSpec& spec) {
  spec.mutable_data()->set_claim_name(wish.claim);
  spec.mutable_data()->set_path(wish.data);
  spec.mutable_checkpoint()->set_claim_name(wish.claim);
  spec.mutable_checkpoint()->set_path("checkpoints/" + name_of(wish));
}

// As examples/quickstart.yaml, for models that nobody published; others keep the defaults.
void fill_optimizer(const planner::ModelShape& shape, v1alpha1::Training& training) {
  if (shape.positions) return;
  v1alpha1::Optimizer& optimizer = *training.mutable_optimizer();
  optimizer.set_learning_rate("3e-3");
  optimizer.set_min_learning_rate("3e-4");
}

Status fill_training(const JobWish& wish, int devices, JobSpec& spec) {
  const planner::ModelShape shape = *planner::resolve_model_shape(spec.model());
  const auto tokens = wish.tokens ? std::optional(wish.tokens->tokens) : std::nullopt;
  const auto sizes = choose_sizes(shape, tokens, devices);
  if (!sizes) return bad_input(fmt::format("--data: {}: {}", wish.data, sizes.error().message));
  v1alpha1::Training& training = *spec.mutable_training();
  training.set_steps(sizes->steps);
  training.set_sequence_length(sizes->sequence_length);
  training.set_global_batch_sequences(sizes->global_batch_sequences);
  if (wish.product.empty()) training.set_precision(v1alpha1::Precision::FP32);
  fill_optimizer(shape, training);
  return {};
}

// With the resource of its vendor, where that is not the schema's default.
void fill_gpu(const std::string& product, v1alpha1::Device& device) {
  device.set_product(product);
  const auto known = planner::find_device(product);
  const auto& usual = schema::rules_of(*schema::find_field(*v1alpha1::Device::descriptor(), "resourceName"));
  if (known && known->resource_name != usual.default_value()) device.set_resource_name(known->resource_name);
}

// A cluster's CPUs are described by the job, those of this machine are looked at.
void fill_devices(const JobWish& wish, int devices, JobSpec& spec) {
  v1alpha1::Resources& resources = *spec.mutable_resources();
  resources.set_devices(devices);
  v1alpha1::Device& device = *resources.mutable_device();
  if (!wish.product.empty()) return fill_gpu(wish.product, device);
  device.set_kind(v1alpha1::Device::CPU);
  if (wish.claim.empty()) return;
  resources.set_devices_per_node(devices % 2 == 0 ? 2 : 1);
  device.set_memory(exact_quantity(kLeastWorkerMemory));
}

JobSpec with_defaults(JobSpec spec) {
  schema::apply_defaults(spec);
  return spec;
}

// Of a job that is not the last try, nobody reads what would do.
Status fits(const JobSpec& spec, const Machine& machine, bool says_what_would_do = false) {
  const auto plan =
      planner::plan_job(with_defaults(spec), device_facts(spec.resources(), machine),
                        planner::default_engine_profile(), {.says_what_would_do = says_what_would_do});
  return plan ? Status{} : tl::unexpected(plan.error());
}

// Asks for more memory of a worker on a cluster until the job fits.
Status fit_worker_memory(const Machine& machine, JobSpec& spec) {
  v1alpha1::Device& device = *spec.mutable_resources()->mutable_device();
  Status fitting = fits(spec, machine);
  for (int64_t memory = kLeastWorkerMemory; !fitting && memory < kMostWorkerMemory; memory *= 2) {
    device.set_memory(exact_quantity(2 * memory));
    fitting = fits(spec, machine);
  }
  return fitting;
}

Status fill_sizes(const JobWish& wish, const Machine& machine, int devices, JobSpec& spec) {
  fill_devices(wish, devices, spec);
  if (Status filled = fill_training(wish, devices, spec); !filled) return filled;
  const bool describes_workers = wish.product.empty() && !wish.claim.empty();
  return describes_workers ? fit_worker_memory(machine, spec) : fits(spec, machine);
}

int most_devices() {
  return static_cast<int>(
      schema::rules_of(*schema::find_field(*v1alpha1::Resources::descriptor(), "devices")).maximum());
}

// A power of two where the user names no number; for CPUs one, since their number is no question of memory.
Status fill_smallest(const JobWish& wish, const Machine& machine, JobSpec& spec) {
  if (wish.devices) return fill_sizes(wish, machine, *wish.devices, spec);
  Status filled = fill_sizes(wish, machine, 1, spec);
  for (int devices = 2; !filled && filled.error().code == ExitCode::kDoesNotFit && !wish.product.empty() &&
                        devices <= most_devices();
       devices *= 2)
    filled = fill_sizes(wish, machine, devices, spec);
  return filled;
}

Status fill(const JobWish& wish, const Machine& machine, JobSpec& spec) {
  const Status filled = fill_smallest(wish, machine, spec);
  const bool does_not_fit = !filled && filled.error().code == ExitCode::kDoesNotFit;
  return does_not_fit ? fits(spec, machine, /*says_what_would_do=*/true) : filled;
}

// With its default, so that taking the comment away changes nothing yet; else with a value to begin with.
JobSpec suggestions_for(const JobSpec& given) {
  JobSpec defaults = given;
  defaults.mutable_failure_policy();
  schema::apply_defaults(defaults);
  JobSpec suggested;
  suggested.mutable_model()->set_vocab_size(
      static_cast<int>(planner::resolve_model_shape(given.model())->vocab));
  suggested.mutable_data()->set_validation_path("validation.bin");
  const v1alpha1::Training& training = defaults.training();
  v1alpha1::Training& more = *suggested.mutable_training();
  more.set_precision(training.precision());
  more.set_seed(training.seed());
  more.mutable_optimizer()->set_learning_rate(training.optimizer().learning_rate());
  more.mutable_optimizer()->set_min_learning_rate(training.optimizer().min_learning_rate());
  more.mutable_optimizer()->set_schedule(training.optimizer().schedule());
  more.mutable_evaluation()->set_every_steps(std::max(1, training.steps() / 10));
  suggested.mutable_parallelism()->set_tensor(1);
  suggested.mutable_parallelism()->set_pipeline(1);
  suggested.mutable_checkpoint()->set_every_steps(std::max(1, training.steps() / 4));
  suggested.mutable_checkpoint()->set_keep_last(defaults.checkpoint().keep_last());
  suggested.mutable_failure_policy()->set_max_restarts(defaults.failure_policy().max_restarts());
  return suggested;
}

void note_sizes(const JobWish& wish, NewJob& made) {
  if (!wish.tokens) return;
  const v1alpha1::Training& training = made.job.spec().training();
  const TrainingSizes sizes{.steps = training.steps(),
                            .sequence_length = training.sequence_length(),
                            .global_batch_sequences = training.global_batch_sequences()};
  made.notes.push_back(fmt::format("{} has {} tokens; one epoch is {} steps of {} x {} tokens", wish.data,
                                   readable_integer(wish.tokens->tokens),
                                   readable_integer(steps_of_epoch(sizes, wish.tokens->tokens)),
                                   sizes.global_batch_sequences, sizes.sequence_length));
}

Error explained(Error error, const JobWish& wish) {
  if (error.code == ExitCode::kDoesNotFit && wish.product.empty())
    error.message += "\nfor GPUs, add --device H100-80GB or another one of `caravan devices`";
  return error;
}

}  // namespace

Result<NewJob> make_new_job(const JobWish& wish, const Machine& machine) {
  NewJob made;
  made.job.set_api_version(only_choice("apiVersion"));
  made.job.set_kind(only_choice("kind"));
  made.job.mutable_metadata()->set_name(name_of(wish));
  if (Status filled = fill_model(wish, made); !filled) return tl::unexpected(filled.error());
  JobSpec& spec = *made.job.mutable_spec();
  fill_data(wish, spec);
  if (Status filled = fill(wish, machine, spec); !filled)
    return tl::unexpected(explained(filled.error(), wish));
  made.suggested = suggestions_for(spec);
  note_sizes(wish, made);
  return made;
}

std::string job_text(const NewJob& made) {
  constexpr const char* kHeader =
      "# A training job. `caravan plan` says whether and how it fits{}.\n"
      "# A line such as #seed: 1 is a field that the job does not have; take the # away, and it has it.\n"
      "# Of an indented block, such as #evaluation:, take the # away from every line, the first one too.\n"
      "# docs/reference/api.md lists every field with its bounds.\n";
  const bool on_cluster = !made.job.spec().data().claim_name().empty();
  const bool trains = made.job.spec().resources().device().kind() == v1alpha1::Device::CPU;
  const char* start = on_cluster ? ", `kubectl apply -f` starts it" : ", `caravan run` trains it";
  v1alpha1::LlamaTrainingJob suggested;
  *suggested.mutable_spec() = made.suggested;
  return fmt::format(kHeader, trains ? start : "") + annotated_yaml(made.job, suggested, 0);
}

}  // namespace caravan::cli
