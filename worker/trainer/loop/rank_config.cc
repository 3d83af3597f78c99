#include "worker/trainer/loop/rank_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "caravan/v1alpha1/rank.pb.h"
#include "common/decimal.h"
#include "common/json.h"
#include "common/schema/field_rules.h"
#include "data/input_file.h"
#include "planner/engine_profile.h"
#include "planner/memory/memory_model.h"
#include "planner/plan.h"
#include "planner/report.h"
#include "planner/request.h"
#include "planner/schedule/generate.h"
#include "planner/schedule/validate.h"
#include "worker/trainer/comm/nccl/used_ways.h"

namespace caravan::trainer {
namespace {

using v1alpha1::JobSpec;
using v1alpha1::Plan;
using v1alpha1::RankConfig;

// Remembers the first field that does not hold what it should.
class Checks {
 public:
  void require(bool holds, const std::string& message) {
    if (!holds && status_) status_ = bad_input("rank configuration: " + message);
  }

  double decimal(const std::string& text, const char* field) {
    const Result<double> value = parse_decimal(text);
    require(value.has_value(), fmt::format("{}: '{}' is not a decimal number", field, text));
    return value.value_or(0);
  }

  const Status& status() const { return status_; }

 private:
  Status status_;
};

// Proto3 cannot tell 0 from absent, and no agent hands over descriptor 0.
int descriptor_or_none(int fd) {
  return fd > 0 ? fd : -1;
}

RendezvousOptions rendezvous_of(const RankConfig& config, Checks& checks) {
  RendezvousOptions options;
  options.address = config.master_address();
  options.port = config.master_port();
  options.listen_fd = descriptor_or_none(config.master_listen_fd());
  options.network_interface = config.network_interface();
  options.rank = config.rank();
  options.world_size = config.world_size();
  options.node = config.rank() - config.local_rank();
  options.attempt = config.attempt();
  if (config.collective_timeout_seconds() > 0)
    options.timeout = std::chrono::seconds(config.collective_timeout_seconds());
  checks.require(options.world_size >= 1,
                 fmt::format("worldSize must be at least 1, it is {}", options.world_size));
  checks.require(options.rank >= 0 && options.rank < options.world_size,
                 fmt::format("rank must be from 0 to worldSize - 1 = {}, it is {}", options.world_size - 1,
                             options.rank));
  checks.require(options.world_size == 1 || (options.port > 0 && options.port < 65536),
                 fmt::format("masterPort must be from 1 to 65535, it is {}", options.port));
  return options;
}

// It becomes part of the names of files.
std::string uid_of(const RankConfig& config, Checks& checks) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; };
  checks.require(
      std::ranges::all_of(config.job_uid(), is_plain),
      fmt::format("jobUid: '{}' has other characters than letters, digits and -", config.job_uid()));
  return config.job_uid();
}

planner::Layout layout_of(const Plan& plan, const planner::ModelShape& model, int world_size,
                          Checks& checks) {
  planner::Layout layout = planner::layout_value(plan);
  const int sizes[] = {layout.mesh.tensor, layout.mesh.pipeline, layout.mesh.data, layout.micro_batch_size};
  const bool positive = std::all_of(std::begin(sizes), std::end(sizes), [](int size) { return size >= 1; });
  checks.require(positive, "plan: tensor, pipeline, data and microBatchSize must be at least 1");
  checks.require(
      layout.mesh.ranks() == world_size,
      fmt::format("plan: tensor x pipeline x data is {}, worldSize is {}", layout.mesh.ranks(), world_size));
  checks.require(layout.zero_stage <= 1, "plan.zeroStage: only 0 and 1 are available");
  const auto schedule = planner::schedule_from_name(plan.schedule());
  checks.require(schedule && planner::may_be_asked_for(*schedule),
                 fmt::format("plan.schedule: '{}' is not available", plan.schedule()));

  const auto& stages = layout.layers_per_stage;
  const int chunks = layout.virtual_stages;
  const bool enough = static_cast<int>(stages.size()) == layout.mesh.pipeline &&
                      std::all_of(stages.begin(), stages.end(), [&](int layers) { return layers >= chunks; });
  checks.require(enough,
                 "plan.layersPerStage: one entry of at least plan.virtualStages for each pipeline stage");
  const auto& times = plan.group_times();
  checks.require(times.empty() || times.size() == int64_t{3} * layout.mesh.pipeline * chunks,
                 "plan.groupTimes: three numbers for each chunk of each pipeline stage, or none");
  checks.require(std::all_of(times.begin(), times.end(), [](int time) { return time > 0; }),
                 "plan.groupTimes: every number must be above 0");
  checks.require(plan.recomputed_part().empty() || layout.recomputed_part != planner::RecomputedPart::Layer,
                 fmt::format("plan.recomputedPart: '{}' is not available", plan.recomputed_part()));
  const auto& again = layout.recomputed_layers;
  const bool within =
      again.empty() || (again.size() == stages.size() &&
                        std::equal(again.begin(), again.end(), stages.begin(),
                                   [](int some, int all) { return some >= 0 && some <= all; }));
  checks.require(within, "plan.recomputedLayers: for each pipeline stage from 0 to the layers that it has");
  const int64_t layers = std::accumulate(stages.begin(), stages.end(), int64_t{0});
  checks.require(
      layers == model.layers,
      fmt::format("plan.layersPerStage: the stages have {} layers, the model has {}", layers, model.layers));
  return layout;
}

// Of a sequence that is cut.
void check_segments(const TrainerOptions& options, Checks& checks) {
  if (!checks.status()) return;
  const planner::Layout& layout = options.layout;
  const std::vector<int64_t>& segments = layout.segments;
  const bool cuts = planner::cuts_sequences(layout.schedule);
  checks.require(cuts ? segments.size() > 1 : segments.empty(),
                 "plan.segmentTokens: two entries or more where plan.schedule cuts sequences, else none");
  if (segments.empty()) return;
  checks.require(layout.micro_batch_size == 1,
                 "plan.microBatchSize: must be 1 where plan.schedule cuts sequences");
  const int parts = layout.sequence_parallel ? layout.mesh.tensor : 1;
  checks.require(std::ranges::all_of(segments, [&](int64_t some) { return some > 0 && some % parts == 0; }),
                 "plan.segmentTokens: every entry must be above 0, and divisible by plan.tensor with "
                 "sequence parallelism");
  const int64_t tokens = std::accumulate(segments.begin(), segments.end(), int64_t{0});
  checks.require(tokens == options.data.sequence_length,
                 fmt::format("plan.segmentTokens: the segments have {} tokens, spec.training.sequenceLength "
                             "is {}",
                             tokens, options.data.sequence_length));
}

void check_divisions(const TrainerOptions& options, Checks& checks) {
  if (!checks.status()) return;
  const planner::Layout& layout = options.layout;
  const auto divisible = [&](int64_t value, int64_t by, const char* what, const char* divisor) {
    checks.require(value % by == 0,
                   fmt::format("{} = {} must be divisible by {} = {}", what, value, divisor, by));
  };
  divisible(options.model.heads, layout.mesh.tensor, "heads", "plan.tensor");
  divisible(options.model.kv_heads, layout.mesh.tensor, "kvHeads", "plan.tensor");
  divisible(options.model.ffn, layout.mesh.tensor, "ffnSize", "plan.tensor");
  divisible(options.data.global_batch_sequences, int64_t{layout.mesh.data} * layout.micro_batch_size,
            "spec.training.globalBatchSequences", "plan.data x plan.microBatchSize");
  if (layout.sequence_parallel)
    divisible(options.data.sequence_length, layout.mesh.tensor, "spec.training.sequenceLength",
              "plan.tensor");
}

void make_schedule(TrainerOptions& options, Checks& checks) {
  if (!checks.status()) return;
  const planner::ScheduleSpec spec = options.layout.schedule_of(static_cast<int>(options.micro_batches()));
  const Status runs = planner::check_spec(spec).and_then([&] {
    options.schedule = planner::generate_schedule(spec);
    return planner::validate_schedule(options.schedule,
                                      {.messages_under_way = planner::messages_under_way(spec.kind)});
  });
  checks.require(runs.has_value(), runs ? "" : "plan.schedule: " + runs.error().message);
  if (!runs) return;
  const planner::MeshPosition position = position_of(options.rendezvous.rank, options.layout.mesh);
  options.rendezvous.ways = used_ways(options.schedule, position.pipeline);
}

Precision precision_of(const RankConfig& config) {
  if (config.double_precision()) return Precision::FP64;
  return config.spec().training().precision() == v1alpha1::Precision::FP32 ? Precision::FP32
                                                                           : Precision::BF16;
}

DeviceKind device_of(const RankConfig& config, Checks& checks) {
  const bool on_gpu = config.spec().resources().device().kind() == v1alpha1::Device::GPU;
  checks.require(!on_gpu || !config.double_precision(), "doublePrecision is for CPUs");
  return on_gpu ? DeviceKind::Gpu : DeviceKind::Cpu;
}

DecayShape decay_shape(v1alpha1::Optimizer::Schedule schedule) {
  switch (schedule) {
    case v1alpha1::Optimizer::Linear:
      return DecayShape::Linear;
    case v1alpha1::Optimizer::Constant:
      return DecayShape::Constant;
    default:
      return DecayShape::Cosine;
  }
}

OptimizerOptions optimizer_of(const RankConfig& config, Checks& checks) {
  const v1alpha1::Training& training = config.spec().training();
  const v1alpha1::Optimizer& given = training.optimizer();
  OptimizerOptions options;
  options.adamw = {
      .beta1 = checks.decimal(given.beta1(), "spec.training.optimizer.beta1"),
      .beta2 = checks.decimal(given.beta2(), "spec.training.optimizer.beta2"),
      .epsilon = checks.decimal(given.epsilon(), "spec.training.optimizer.epsilon"),
      .weight_decay = checks.decimal(given.weight_decay(), "spec.training.optimizer.weightDecay"),
      .bf16_moments = given.state_type() == v1alpha1::Precision::BF16 && !config.double_precision(),
      .seed = static_cast<uint64_t>(training.seed())};
  options.learning_rate = {
      .peak = checks.decimal(given.learning_rate(), "spec.training.optimizer.learningRate"),
      .minimum = checks.decimal(given.min_learning_rate(), "spec.training.optimizer.minLearningRate"),
      .warmup_steps =
          given.has_warmup_steps() ? given.warmup_steps() : default_warmup_steps(training.steps()),
      .warmup_is_given = given.has_warmup_steps(),
      .steps = training.steps(),
      .shape = decay_shape(given.schedule())};
  options.clip_norm = checks.decimal(given.gradient_clip_norm(), "spec.training.optimizer.gradientClipNorm");
  options.max_nonfinite_steps = given.max_nonfinite_steps();
  return options;
}

DataOptions data_of(const JobSpec& spec, Checks& checks) {
  const v1alpha1::Training& training = spec.training();
  checks.require(!spec.data().path().empty(), "spec.data.path must be set");
  checks.require(training.sequence_length() >= 1, "spec.training.sequenceLength must be at least 1");
  checks.require(training.global_batch_sequences() >= 1,
                 "spec.training.globalBatchSequences must be at least 1");
  return {.path = spec.data().path(),
          .validation_path = spec.data().validation_path(),
          .sequence_length = training.sequence_length(),
          .global_batch_sequences = training.global_batch_sequences(),
          .seed = static_cast<uint64_t>(training.seed())};
}

EvaluationOptions evaluation_of(const JobSpec& spec, Checks& checks) {
  const v1alpha1::Evaluation& evaluation = spec.training().evaluation();
  checks.require(evaluation.every_steps() == 0 || !spec.data().validation_path().empty(),
                 "spec.training.evaluation.everySteps needs spec.data.validationPath");
  return {.every_steps = evaluation.every_steps(), .batches = evaluation.batches()};
}

CheckpointOptions checkpoint_of(const JobSpec& spec, Checks& checks) {
  if (!spec.has_checkpoint()) return {};
  const v1alpha1::Checkpoint& checkpoint = spec.checkpoint();
  checks.require(!checkpoint.path().empty(), "spec.checkpoint.path must be set");
  checks.require(!checkpoint.has_every_steps() || checkpoint.every_steps() >= 1,
                 "spec.checkpoint.everySteps must be at least 1");
  checks.require(!checkpoint.has_every_seconds() || checkpoint.every_seconds() >= 1,
                 "spec.checkpoint.everySeconds must be at least 1");
  checks.require(checkpoint.keep_last() >= 1, "spec.checkpoint.keepLast must be at least 1");
  CheckpointOptions options{.path = checkpoint.path(),
                            .keep_last = checkpoint.keep_last(),
                            .resumes = checkpoint.resume() != v1alpha1::Checkpoint::Never};
  if (checkpoint.has_every_steps()) options.every_steps = checkpoint.every_steps();
  if (checkpoint.has_every_seconds()) options.every_seconds = checkpoint.every_seconds();
  return options;
}

// What the planner knew of the devices, where the job does not name it.
planner::DeviceFacts facts_of(const v1alpha1::Plan& plan) {
  planner::DeviceFacts facts;
  if (plan.usable_bytes() > 0) facts.memory_bytes = plan.usable_bytes();
  if (plan.devices_per_node() > 0) facts.devices_per_node = plan.devices_per_node();
  return facts;
}

std::optional<planner::MemoryTerms> planned_memory(const JobSpec& spec, const v1alpha1::Plan& plan,
                                                   const TrainerOptions& options) {
  Result<planner::PlanRequest> request = planner::read_request(spec, facts_of(plan));
  if (!request) return std::nullopt;
  request->devices.threads = options.threads;
  if (plan.has_memory_correction()) request->correction = plan.memory_correction();
  const int stage = position_of(options.rendezvous.rank, options.layout.mesh).pipeline;
  const planner::EngineProfile profile = planner::default_engine_profile();
  return predict_stage_memory(*request, options.layout, stage, profile);
}

// A job names its device. A configuration without one was written by hand, for the machine at hand.
const JobSpec& with_defaults(JobSpec& spec) {
  v1alpha1::Device& device = *spec.mutable_resources()->mutable_device();
  if (device.kind() == v1alpha1::Device::KindUnspecified) device.set_kind(v1alpha1::Device::CPU);
  spec.mutable_training()->mutable_optimizer();
  spec.mutable_training()->mutable_evaluation();
  schema::apply_defaults(spec);
  return spec;
}

Result<TrainerOptions> options_of(RankConfig config) {
  const JobSpec& spec = with_defaults(*config.mutable_spec());
  const Result<planner::ModelShape> model = planner::resolve_model_shape(spec.model());
  if (!model) return tl::unexpected(model.error());

  Checks checks;
  TrainerOptions options;
  options.job_name = config.job_name();
  options.job_uid = uid_of(config, checks);
  options.rendezvous = rendezvous_of(config, checks);
  options.model = *model;
  options.layout = layout_of(config.plan(), *model, config.world_size(), checks);
  options.precision = precision_of(config);
  options.device = device_of(config, checks);
  if (const int64_t usable = config.plan().usable_bytes(); usable > 0)
    options.tensor_bytes = planner::tensor_bytes(usable, planner::default_engine_profile());
  options.local_rank = config.local_rank();
  options.steps = spec.training().steps();
  checks.require(options.steps >= 1, "spec.training.steps must be at least 1");
  options.data = data_of(spec, checks);
  options.evaluation = evaluation_of(spec, checks);
  options.optimizer = optimizer_of(config, checks);
  options.checkpoint = checkpoint_of(spec, checks);
  options.init_from = spec.model().init_from().path();
  options.threads = std::max(1, config.threads());
  options.report_fd = descriptor_or_none(config.report_fd());
  options.command_fd = descriptor_or_none(config.command_fd());
  options.gradient_dump_directory = config.gradient_dump_directory();
  options.trace_directory = config.trace_directory();
  check_divisions(options, checks);
  check_segments(options, checks);
  make_schedule(options, checks);
  if (!checks.status()) return tl::unexpected(checks.status().error());
  return options;
}

Result<std::string> text_of(const std::string& path) {
  const Result<data::InputFile> file = data::InputFile::open(path);
  return file ? file->text() : tl::unexpected(file.error());
}

}  // namespace

Result<TrainerOptions> parse_rank_config(const std::string& json) {
  Result<RankConfig> config = from_json<RankConfig>(json);
  if (!config) return tl::unexpected(config.error());
  return options_of(*std::move(config));
}

Result<TrainerOptions> load_rank_config(const std::string& path) {
  const Result<std::string> text = text_of(path);
  if (!text) return tl::unexpected(text.error());
  Result<TrainerOptions> options = parse_rank_config(*text);
  if (!options)
    return tl::unexpected(Error{fmt::format("{}: {}", path, options.error().message), ExitCode::kBadInput});
  return options;
}

std::optional<planner::MemoryTerms> load_planned_memory(const std::string& path) {
  const Result<std::string> text = text_of(path);
  Result<RankConfig> config = text.and_then(from_json<RankConfig>);
  if (!config) return std::nullopt;
  const Result<TrainerOptions> options = options_of(*config);
  if (!options) return std::nullopt;
  return planned_memory(with_defaults(*config->mutable_spec()), config->plan(), *options);
}

}  // namespace caravan::trainer
