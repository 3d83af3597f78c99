#include "tests/numerics/trainer_world.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <thread>

#include "common/json.h"
#include "common/listen.h"
#include "common/testing/await.h"
#include "common/testing/checkout.h"
#include "planner/report.h"

namespace caravan::numerics {
namespace {

const std::string kProgram = test::program_folder() + "/caravan-trainer";

void write_plan(const planner::Layout& layout, int64_t global_batch, v1alpha1::Plan& plan) {
  planner::write_layout(layout, plan);
  plan.set_gradient_accumulation(
      static_cast<int>(global_batch / (layout.mesh.data * layout.micro_batch_size)));
}

// A line that is still being written is left out.
std::vector<v1alpha1::RankReport> read_reports(const std::string& path) {
  std::vector<v1alpha1::RankReport> reports;
  const std::string text = test::contents(path);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    reports.push_back(from_json<v1alpha1::RankReport>(text.substr(begin, end - begin)).value());
  return reports;
}

template <typename Number>
std::vector<double> numbers(std::string_view bytes) {
  std::vector<Number> values(bytes.size() / sizeof(Number));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return {values.begin(), values.end()};
}

UniqueFd open_for_writing(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

}  // namespace

v1alpha1::JobSpec tiny_spec(const std::string& token_file) {
  v1alpha1::JobSpec spec;
  v1alpha1::Architecture& model = *spec.mutable_model()->mutable_architecture();
  model.set_hidden_size(64);
  model.set_layers(4);
  model.set_heads(4);
  model.set_kv_heads(2);
  model.set_ffn_size(96);
  model.set_vocab_size(131);
  spec.mutable_data()->set_path(token_file);
  v1alpha1::Training& training = *spec.mutable_training();
  training.set_steps(3);
  training.set_sequence_length(32);
  training.set_global_batch_sequences(8);
  training.set_precision(v1alpha1::Precision::FP32);
  training.mutable_optimizer()->set_learning_rate("1e-3");
  training.mutable_optimizer()->set_warmup_steps(2);
  return spec;
}

planner::Layout layout_of(int tensor, int pipeline, int data) {
  planner::Layout layout;
  layout.mesh.tensor = tensor;
  layout.mesh.pipeline = pipeline;
  layout.mesh.data = data;
  layout.sequence_parallel = tensor > 1;
  layout.layers_per_stage.assign(static_cast<std::size_t>(pipeline), 4 / pipeline);
  return layout;
}

planner::Layout layout_of(int tensor, int pipeline, int data, planner::ScheduleKind schedule) {
  planner::Layout layout = layout_of(tensor, pipeline, data);
  layout.schedule = schedule;
  layout.virtual_stages = planner::smallest_spec(schedule, pipeline, /*micro_batches=*/1).chunks;
  for (int& layers : layout.layers_per_stage) layers = std::max(layers, layout.virtual_stages);
  if (planner::cuts_sequences(schedule)) layout.segments = {14, 10, 8};  // of tiny_spec's 32 tokens
  return layout;
}

int layers_of(const planner::Layout& layout) {
  return std::accumulate(layout.layers_per_stage.begin(), layout.layers_per_stage.end(), 0);
}

v1alpha1::RankConfig rank_config(const v1alpha1::JobSpec& spec, const planner::Layout& layout, int rank) {
  v1alpha1::RankConfig config;
  config.set_job_name("numerics");
  config.set_attempt(1);
  config.set_rank(rank);
  config.set_local_rank(rank);
  config.set_world_size(static_cast<int>(layout.mesh.ranks()));
  config.set_master_address("127.0.0.1");
  config.set_master_port(1);
  config.set_network_interface("lo");
  *config.mutable_spec() = spec;
  write_plan(layout, spec.training().global_batch_sequences(), *config.mutable_plan());
  config.set_report_fd(-1);
  config.set_command_fd(-1);
  config.set_threads(1);
  return config;
}

planner::Layout changed(planner::Layout layout, const std::function<void(planner::Layout&)>& change) {
  change(layout);
  return layout;
}

void gpipe(planner::Layout& layout) {
  layout.schedule = planner::ScheduleKind::GPipe;
}
void zero_bubble(planner::Layout& layout) {
  layout.schedule = planner::ScheduleKind::ZeroBubbleH1;
}
void zero_bubble_h2(planner::Layout& layout) {
  layout.schedule = planner::ScheduleKind::ZeroBubbleH2;
}
void checkpointed(planner::Layout& layout) {
  layout.activation_checkpointing = true;
}

TrainerWorld::TrainerWorld(const v1alpha1::JobSpec& spec, const planner::Layout& layout,
                           const WorldOptions& options) {
  const ListeningSocket listener = listen_on("127.0.0.1", "0").value();
  for (int rank = 0; rank < layout.mesh.ranks(); ++rank) {
    Pipe commands = make_pipe().value();
    v1alpha1::RankConfig config = rank_config(spec, layout, rank);
    config.set_attempt(options.attempt);
    config.set_master_port(listener.port);
    config.set_master_listen_fd(rank == 0 ? listener.fd.get() : -1);
    config.set_command_fd(commands.read_end.get());
    config.set_threads(options.threads);
    config.set_collective_timeout_seconds(100);
    config.set_gradient_dump_directory(options.gradient_folder);
    config.set_double_precision(options.double_precision);
    if (options.change) options.change(config);

    const std::string path = folder_.write(fmt::format("rank-{}.json", rank), to_json(config));
    const std::string report_path = folder_.path(fmt::format("rank-{}.reports", rank));
    const std::string log_path = folder_.path(fmt::format("rank-{}.log", rank));
    const UniqueFd reports = open_for_writing(report_path);
    const UniqueFd log = open_for_writing(log_path);
    std::vector<int> inherited = {commands.read_end.get()};
    if (rank == 0) inherited.push_back(listener.fd.get());
    Process process = Process::spawn({.program = kProgram,
                                      .arguments = {"--config", path},
                                      .environment = {{"OMP_WAIT_POLICY", "PASSIVE"}},  // as agents do
                                      .stdout_fd = reports.get(),
                                      .stderr_fd = log.get(),
                                      .inherited_fds = inherited})
                          .value();
    ranks_.push_back({std::move(process), std::move(commands.write_end), report_path, log_path});
  }
}

void TrainerWorld::send(int rank, const v1alpha1::RankCommand& command) const {
  const std::string line = to_json(command) + "\n";
  const int fd = ranks_[static_cast<std::size_t>(rank)].commands.get();
  ASSERT_EQ(write(fd, line.data(), line.size()), static_cast<ssize_t>(line.size()));
}

bool TrainerWorld::wait_for(int rank, const std::function<bool(const v1alpha1::RankReport&)>& holds) const {
  constexpr int kLookAgainMilliseconds = 5;
  const Rank& watched = ranks_[static_cast<std::size_t>(rank)];
  while (true) {
    pollfd ended{.fd = watched.process.pidfd(), .events = POLLIN, .revents = 0};
    const bool over = poll(&ended, 1, kLookAgainMilliseconds) > 0;
    const auto reports = read_reports(watched.report_path);
    const bool reached = std::any_of(reports.begin(), reports.end(), holds);
    if (reached || over) return reached;
  }
}

bool TrainerWorld::wait_for_start(int rank) const {
  return wait_for(rank, [](const auto& report) { return report.has_started(); });
}

bool TrainerWorld::wait_for_interlude(int rank, int delayed_step, bool goes_on) const {
  return wait_for(rank, [&](const auto& report) {
    const auto& interlude = report.interlude();
    return interlude.delayed_step() >= delayed_step && interlude.goes_on() == goes_on;
  });
}

bool TrainerWorld::wait_for_step(int rank, int step) const {
  return wait_for(rank, [&](const auto& report) { return report.step().step() >= step; });
}

v1alpha1::RankActivity TrainerWorld::ask_activity(int rank) const {
  const auto answers = [&] {
    std::vector<v1alpha1::RankActivity> all;
    for (const auto& report : read_reports(ranks_[static_cast<std::size_t>(rank)].report_path)) {
      if (report.has_activity()) all.push_back(report.activity());
    }
    return all;
  };
  const std::size_t before = answers().size();
  v1alpha1::RankCommand ask;
  ask.set_tell_activity(true);
  send(rank, ask);
  test::await([&] { return answers().size() != before; });
  return answers().back();
}

std::vector<RankResult> TrainerWorld::wait() {
  std::vector<RankResult> results(ranks_.size());
  std::size_t running = ranks_.size();
  bool failed = false;
  while (running > 0 && !failed) {
    std::vector<pollfd> ends;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const int fd = results[r].status ? -1 : ranks_[r].process.pidfd();
      ends.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
    poll(ends.data(), ends.size(), -1);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (results[r].status || !(results[r].status = ranks_[r].process.try_wait())) continue;
      --running;
      failed = failed || *results[r].status != ExitStatus{.exit_code = 0};
    }
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (!results[r].status) ranks_[r].process.signal_group(SIGKILL);
    results[r].reports = read_reports(ranks_[r].report_path);
    results[r].log = test::contents(ranks_[r].log_path);
  }
  return results;
}

std::vector<RankResult> train(const v1alpha1::JobSpec& spec, const planner::Layout& layout,
                              const WorldOptions& options) {
  std::vector<RankResult> ranks = TrainerWorld(spec, layout, options).wait();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::string end = ranks[r].status ? to_string(*ranks[r].status) : "killed";
    EXPECT_EQ(end, "exit code 0") << "rank " << r << ": " << ranks[r].log;
  }
  return ranks;
}

std::vector<double> losses(const std::vector<RankResult>& ranks) {
  std::vector<double> losses;
  for (const RankResult& rank : ranks) {
    losses.clear();
    for (const v1alpha1::RankReport& report : rank.reports) {
      if (report.step().has_loss()) losses.push_back(report.step().loss());
    }
    if (!losses.empty()) break;
  }
  return losses;
}

NamedGradients read_gradients(const std::string& folder) {
  NamedGradients gradients;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string bytes = test::contents(file.path());
    constexpr std::size_t kPrefix = 10;
    const std::size_t header =
        kPrefix + static_cast<uint8_t>(bytes[8]) + 256 * static_cast<uint8_t>(bytes[9]);
    const bool is_double = bytes.substr(0, header).find("<f8") != std::string::npos;
    const std::string_view values = std::string_view(bytes).substr(header);
    gradients[file.path().stem()] = is_double ? numbers<double>(values) : numbers<float>(values);
  }
  return gradients;
}

}  // namespace caravan::numerics
