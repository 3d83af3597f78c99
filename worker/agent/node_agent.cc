#include "worker/agent/node_agent.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "common/listen.h"
#include "common/process.h"
#include "common/version.h"
#include "worker/agent/loop_pause.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using v1alpha1::AgentMessage;
using v1alpha1::CoordinatorMessage;
using v1alpha1::RankCommand;

// The loop looks once in a heartbeat, so a stopped rank is seen after one and killed after three more.
constexpr double kHeartbeatsUntilRankIsSilent = 2.5;

struct AttemptCommand {
  int attempt = 0;
  RankCommand command = {};
};

// What a message tells the ranks of an attempt; nothing where it is about something else.
std::optional<AttemptCommand> command_in(const CoordinatorMessage& message) {
  AttemptCommand told;
  switch (message.message_case()) {
    case CoordinatorMessage::kStopAfterStep:
      told.attempt = message.stop_after_step().attempt();
      told.command.set_stop_after_step(message.stop_after_step().step());
      return told;
    case CoordinatorMessage::kSaveCheckpoint:
      told.attempt = message.save_checkpoint().attempt();
      told.command.set_save(true);
      told.command.set_request(message.save_checkpoint().request());
      return told;
    case CoordinatorMessage::kAskActivity:
      told.attempt = message.ask_activity().attempt();
      told.command.set_tell_activity(true);
      return told;
    default:
      return std::nullopt;
  }
}

}  // namespace

NodeAgent::NodeAgent(NodeAgentConfig config, Supervisor& supervisor, Metrics& metrics, int signal_fd)
    : config_(std::move(config)),
      supervisor_(supervisor),
      metrics_(metrics),
      signal_fd_(signal_fd),
      link_(config_.coordinator, events_),
      last_attempt_(config_.first_attempt - 1),
      heard_(Clock::now()),
      beat_at_(heard_),
      join_at_(heard_),
      lost_since_(heard_),
      rejoin_(rejoin_backoff(config_.nodes)) {}

int NodeAgent::run() {
  while (!exit_code_ || !supervisor_.idle()) {
    wait_for_events();
    handle_signals();
    handle_link();
    handle_ranks();
    handle_clocks();
  }
  link_.disconnect();
  return *exit_code_;
}

void NodeAgent::wait_for_events() {
  std::vector<pollfd> descriptors{{signal_fd_, POLLIN, 0}, {events_.fd(), POLLIN, 0}};
  supervisor_.watch(descriptors);
  const LoopState state{.over = exit_code_.has_value(),
                        .joined = connection_ != 0,
                        .has_ranks = !supervisor_.idle(),
                        .beat_at = beat_at_,
                        .join_at = join_at_};
  poll(descriptors.data(), descriptors.size(), static_cast<int>(loop_pause(state, Clock::now()).count()));
}

void NodeAgent::handle_signals() {
  while (const auto signal = read_signal(signal_fd_)) {
    if (config_.stop_job) {
      spdlog::info("signal {}: stopping the job", *signal);
      config_.stop_job();
    } else {
      leave(*signal);
    }
  }
}

void NodeAgent::leave(int signal) {
  spdlog::info("signal {}: leaving the job", signal);
  const bool again = std::exchange(leaving_, true);
  if (again || !lets_go_) return end(static_cast<int>(ExitCode::kLeft));
  AgentMessage message;
  message.mutable_leaving();
  link_.send(message);
}

void NodeAgent::end(int exit_code) {
  supervisor_.stop();
  exit_code_ = exit_code;
}

void NodeAgent::handle_link() {
  for (const LinkEvent& event : events_.take()) {
    std::visit([this](const auto& e) { handle(e); }, event);
  }
}

void NodeAgent::handle(const LinkMessage& event) {
  if (event.connection != connection_ || exit_code_) return;
  heard_ = Clock::now();
  handle(event.message);
}

void NodeAgent::handle(const LinkBroken& event) {
  if (event.connection == connection_) lose_coordinator(event.why);
}

void NodeAgent::handle(const CoordinatorMessage& message) {
  switch (message.message_case()) {
    case CoordinatorMessage::kWelcome:
      spdlog::info("joined the gang as node {}", config_.node);
      config_.heartbeat = milliseconds(std::max(1, message.welcome().heartbeat_milliseconds()));
      if (message.welcome().patience_milliseconds() > 0)
        config_.patience = milliseconds(message.welcome().patience_milliseconds());
      welcome_at_ = Clock::now();
      lets_go_ = message.welcome().lets_go();
      return;
    case CoordinatorMessage::kOpenMaster:
      return open_master(message.open_master().attempt());
    case CoordinatorMessage::kStartAttempt:
      return start_attempt(message.start_attempt());
    case CoordinatorMessage::kStopAttempt:
      return stop_attempt(message.stop_attempt());
    case CoordinatorMessage::kRankSlowdowns:
      if (message.rank_slowdowns().attempt() == last_attempt_) metrics_.observe(message.rank_slowdowns());
      return;
    case CoordinatorMessage::kJobEnd:
      spdlog::info("the job is over: {}", message.job_end().reason());
      return end(message.job_end().exit_code());
    case CoordinatorMessage::kSuperseded:
      spdlog::warn("a newer agent speaks for node {}: this one ends", config_.node);
      return end(static_cast<int>(ExitCode::kInterrupted));
    default:
      if (const auto told = command_in(message); told && told->attempt == last_attempt_)
        supervisor_.command(told->command);
      return;
  }
}

void NodeAgent::open_master(int attempt) {
  if (attempt <= last_attempt_)
    return refuse_attempt(attempt, fmt::format("attempt {} has been here", last_attempt_));
  auto socket = listen_on(config_.host, "0");
  if (!socket)
    return refuse_attempt(
        attempt, fmt::format("no place for the ranks to meet: {}; check --host", socket.error().message));
  listener_ = std::move(socket->fd);
  listening_for_ = attempt;
  AgentMessage message;
  message.mutable_master_ready()->set_attempt(attempt);
  message.mutable_master_ready()->set_address(config_.host);
  message.mutable_master_ready()->set_port(socket->port);
  link_.send(message);
}

void NodeAgent::start_attempt(const v1alpha1::StartAttempt& start) {
  if (start.attempt() <= last_attempt_)
    return refuse_attempt(start.attempt(), fmt::format("attempt {} has been here", last_attempt_));
  if (!supervisor_.idle())
    return refuse_attempt(start.attempt(), fmt::format("ranks of attempt {} are still here", last_attempt_));
  last_attempt_ = start.attempt();
  spdlog::info("attempt {} starts", last_attempt_);
  UniqueFd listener = listening_for_ == last_attempt_ ? std::move(listener_) : UniqueFd();
  Master master{.attempt = last_attempt_, .address = start.master_address(), .port = start.master_port()};
  // An older coordinator does not say it: pods that were lost come back with the image of today.
  if (start.stall_timeout_seconds() > 0)
    master.stall_timeout = std::chrono::seconds(start.stall_timeout_seconds());
  supervisor_.start(master, std::move(listener));
}

void NodeAgent::refuse_attempt(int attempt, const std::string& why) {
  spdlog::error("refused attempt {}: {}", attempt, why);
  AgentMessage message;
  message.mutable_attempt_refused()->set_attempt(attempt);
  message.mutable_attempt_refused()->set_reason(why);
  message.mutable_attempt_refused()->set_last_attempt(last_attempt_);
  link_.send(message);
}

void NodeAgent::stop_attempt(const v1alpha1::StopAttempt& stop) {
  if (stop.attempt() < last_attempt_) return;
  spdlog::info("attempt {} stops: {}", stop.attempt(), stop.reason());
  last_attempt_ = stop.attempt();
  supervisor_.stop();
  stopping_ = stop.attempt();
}

void NodeAgent::handle_ranks() {
  const RankNews news = supervisor_.collect();
  for (const RankLogLine& line : news.log) spdlog::info("rank {}: {}", line.rank, line.text);
  for (const v1alpha1::RankUpdate& update : news.updates) {
    metrics_.observe(update);
    forward(update);
  }
  for (const v1alpha1::RankExit& exit : news.exits) {
    metrics_.observe(exit);
    AgentMessage message;
    *message.mutable_rank_exit() = exit;
    link_.send(message);
  }
  if (!stopping_ || !supervisor_.idle()) return;
  AgentMessage message;
  message.mutable_attempt_stopped()->set_attempt(*std::exchange(stopping_, std::nullopt));
  link_.send(message);
}

// The collectives of a step stay here, since only the metrics show them.
void NodeAgent::forward(const v1alpha1::RankUpdate& update) {
  AgentMessage message;
  *message.mutable_rank_update() = update;
  v1alpha1::RankReport& report = *message.mutable_rank_update()->mutable_report();
  if (report.has_step()) report.mutable_step()->clear_collectives();
  link_.send(message);
}

void NodeAgent::handle_clocks() {
  if (exit_code_) return;
  const Clock::time_point now = Clock::now();
  if (connection_ == 0) {
    if (now < join_at_ || !supervisor_.idle()) return;
    if (now - lost_since_ > config_.rejoin_timeout) {
      spdlog::error("no coordinator at {} for {} s", config_.coordinator.where,
                    config_.rejoin_timeout.count());
      exit_code_ = static_cast<int>(ExitCode::kClusterUnreachable);
      return;
    }
    return join();
  }
  if (now - heard_ > config_.patience) return lose_coordinator("no heartbeat from it");
  if (now < beat_at_) return;
  supervisor_.end_silent_ranks(now, kHeartbeatsUntilRankIsSilent * config_.heartbeat);
  beat_at_ = now + config_.heartbeat;
  AgentMessage message;
  message.mutable_heartbeat();
  link_.send(message);
}

void NodeAgent::join() {
  v1alpha1::AgentHello hello;
  hello.set_job_uid(config_.job_uid);
  hello.set_node(config_.node);
  hello.set_address(config_.host);
  hello.set_last_attempt(last_attempt_);
  hello.set_incarnation(config_.incarnation);
  hello.set_first_attempt(config_.first_attempt);
  hello.set_version(std::string(version()));
  connection_ = link_.connect(hello);
  heard_ = beat_at_ = Clock::now();
}

void NodeAgent::lose_coordinator(const std::string& why) {
  if (exit_code_) return;
  if (leaving_) return end(static_cast<int>(ExitCode::kLeft));
  const Clock::time_point now = Clock::now();
  if (!was_lost_ || welcome_at_) {
    spdlog::warn("the coordinator at {} is not there: {}", config_.coordinator.where, why);
    lost_since_ = now;
  }
  if (welcome_at_ && now - *welcome_at_ > longest_rejoin_pause(config_.nodes)) rejoin_.reset();
  was_lost_ = true;
  welcome_at_.reset();
  lets_go_ = false;
  connection_ = 0;
  link_.disconnect();
  supervisor_.stop();
  stopping_.reset();
  listener_.reset();
  join_at_ = now + rejoin_.next();
}

}  // namespace caravan::agent
