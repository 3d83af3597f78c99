// caravan-trainer: one rank of a training job.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <system_error>

#include "common/arguments/parse_error.h"
#include "common/process.h"
#include "common/readable_bytes.h"
#include "common/refusal.h"
#include "common/version.h"
#include "worker/trainer/comm/network_groups.h"
#include "worker/trainer/device/open_backend.h"
#include "worker/trainer/libtorch.h"
#include "worker/trainer/loop/dry_run.h"
#include "worker/trainer/loop/memory_shortage.h"
#include "worker/trainer/loop/rank_config.h"
#include "worker/trainer/loop/trainer.h"
#include "worker/trainer/memory/heap.h"

namespace caravan::trainer {
namespace {

void end_with_the_agent(const TrainerOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  if (options.command_fd >= 0) end_with_parent(getppid());
}

// Exceptions of LibTorch and of the groups become failures here.
template <typename Action>
Outcome guarded(Action&& action) {
  const auto failed = [](const std::exception& error, std::string message) {
    const auto reason = is_out_of_memory(error) ? FailureReason::OutOfMemory : FailureReason::Internal;
    TrainingFailure failure{reason, std::move(message)};
    failure.of_host = is_out_of_host_memory(error);
    return tl::unexpected(std::move(failure));
  };
  try {
    return action();
  } catch (const CommunicationError& error) {
    return tl::unexpected(TrainingFailure{FailureReason::Communication, error.what()});
  } catch (const std::system_error& error) {
    return failed(error, refusal(error).value().message);
  } catch (const std::bad_alloc& error) {
    return failed(error, "the system has no memory left");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());  // with the calls that led to it
    return failed(error, words_of(error));
  }
}

int exit_code(FailureReason reason) {
  const ExitCode code = reason == FailureReason::InvalidInput ? ExitCode::kBadInput : ExitCode::kJobFailed;
  return static_cast<int>(code);
}

// Runs no destructors: those of a group wait for the operation that hangs.
[[noreturn]] void end_with(const TrainingFailure& failure, const Reporter& reporter) {
  reporter.failed(failure.reason, failure.message, failure.shortage);
  fmt::print(stderr, "caravan-trainer: {}: {}\n", failure_reason_name(failure.reason), failure.message);
  std::fflush(stderr);
  _exit(exit_code(failure.reason));
}

TrainingFailure with_shortage(TrainingFailure failure, const planner::MemoryTerms& peak,
                              const DeviceBackend& device, const std::string& config_path) {
  if (failure.reason != FailureReason::OutOfMemory) return failure;
  const auto memory_of_device = device.memory();
  if (memory_of_device && failure.of_host) return failure;  // of which the plan of a GPU knows nothing
  const RefusedMemory memory{.peak = peak,
                             .planned = load_planned_memory(config_path),
                             .device_bytes = memory_of_device.value_or(DeviceMemory()).total};
  failure.message = describe_shortage(memory, failure.message);
  failure.shortage = find_shortage(memory);
  return failure;
}

void tell_memory(const DeviceBackend& device) {
  const auto memory = device.memory();
  if (!memory) return;
  fmt::print(stderr, "caravan-trainer: the device's allocator held {} at most, {} of {} are free\n",
             readable_bytes(memory->peak_reserved), readable_bytes(memory->free),
             readable_bytes(memory->total));
}

std::function<int64_t()> reserved_by(const DeviceBackend& device) {
  if (!device.memory()) return {};
  return [&device] { return device.memory().value_or(DeviceMemory()).reserved; };
}

// A GPU refuses by itself what it does not have; a host gives until the kernel kills somebody.
std::optional<MemoryLimit> memory_limit_of(const TrainerOptions& options) {
  if (options.device != DeviceKind::Cpu || !options.tensor_bytes) return std::nullopt;
  return MemoryLimit{
      .bytes = *options.tensor_bytes,
      .words = fmt::format("a device of the job has {} for tensors", readable_bytes(*options.tensor_bytes))};
}

void train(const TrainerOptions& options, const DeviceBackend& device, const std::string& config_path,
           const Reporter& reporter) {
  ActivityBoard board;
  std::optional<CommandListener> commands;
  MemoryLedger ledger(memory_limit_of(options));
  const auto allocations = device.count_allocations(ledger.counter(MemoryUse::Activations));
  const LedgerScope count(ledger);
  const kernels::UseKernels use(device.device().type(), device.kernels());
  const auto marks = device.marks();
  std::optional<Rank> rank;
  std::optional<Trainer> trainer;  // beyond a failure, behind which nobody waits for what it writes
  const Outcome outcome = guarded([&]() -> Outcome {
    commands.emplace(options.command_fd, board, reporter);
    Result<RankData> data = open_data(options);
    if (!data) return input_failure(data.error());
    const auto give_up = [&](const std::string& why) {
      end_with({FailureReason::Communication, why}, reporter);
    };
    const RankDevice where{
        .device = device.device(), .marks = marks.get(), .reserved_bytes = reserved_by(device)};
    Result<GroupFactory> groups = device.groups(options.rendezvous, give_up);
    if (!groups) return input_failure(groups.error());
    rank.emplace(options, ledger, board, *std::move(groups), where);
    return trainer.emplace(*rank, *std::move(data), reporter, *commands).train();
  });
  tell_memory(device);
  if (!outcome) end_with(with_shortage(outcome.error(), ledger.peak(), device, config_path), reporter);
}

std::unique_ptr<DeviceBackend> open_device(const TrainerOptions& options, const Reporter& reporter) {
  Result<std::unique_ptr<DeviceBackend>> device = open_backend(options);
  if (!device) {
    const bool is_wrong = device.error().code == ExitCode::kBadInput;  // or the machine lacks something
    end_with({is_wrong ? FailureReason::InvalidInput : FailureReason::Internal, device.error().message},
             reporter);
  }
  const std::string description = (*device)->description();
  if (!description.empty()) fmt::print(stderr, "caravan-trainer: {}\n", description);
  return *std::move(device);
}

// Reports what the rank holds when it has started.
void start_dry(const TrainerOptions& options, const Reporter& reporter) {
  const Outcome outcome = guarded([&]() -> Outcome {
    const Result<planner::MemoryTerms> held = dry_run(options);
    if (!held) return input_failure(held.error());
    reporter.finished({.step = 0, .peak = *held});
    return {};
  });
  if (!outcome) end_with(outcome.error(), reporter);
}

Result<int> run(const std::string& config_path) {
  const Result<TrainerOptions> options = load_rank_config(config_path);
  const Reporter reporter(options ? options->report_fd : -1);
  if (!options) end_with(input_failure(options.error()).value(), reporter);
  end_with_the_agent(*options);
  keep_freed_memory();
  const bool is_dry = wants_dry_run();
  const auto device = is_dry ? nullptr : open_device(*options, reporter);
  make_deterministic(options->threads);
  if (is_dry) {
    start_dry(*options, reporter);
  } else {
    train(*options, *device, config_path, reporter);
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace caravan::trainer

int main(int argc, char** argv) {
  using caravan::trainer::end_quickly;
  CLI::App app(
      "One rank of a training job. Started by caravan-agent; by hand it writes its reports to standard "
      "output.",
      "caravan-trainer");
  std::string config_path;
  app.add_option("--config", config_path, "RankConfig as a JSON file")->required();
  app.set_version_flag("--version", "caravan-trainer " + std::string(caravan::version()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    end_quickly(caravan::exit_on_parse_error(app, error));
  }
  const auto end = caravan::unless_refused([&] { return caravan::trainer::run(config_path); });
  if (end) end_quickly(*end);
  fmt::print(stderr, "caravan-trainer: {}\n", end.error().message);
  end_quickly(static_cast<int>(end.error().code));
}
