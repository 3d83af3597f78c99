// A trainer without training: speaks the agent's protocol and does what CARAVAN_SCRIPT says, so that tests
// can have a rank die, hang or misbehave at a step of their choice.
//
// CARAVAN_SCRIPT is a list of rules, `;` between them: `[rank=R] [attempt=A] [step=S] ACTION`. A rule without
// rank or attempt holds for all; without a step, before the start. Actions: exit=CODE, signal=NUMBER, hang,
// fail=REASON (and exit code 1), quit (exit code 0 without a word), log=TEXT, garbage (a line that is no
// report), overlong (a line of 3 MiB that ends like a report), child (leaves a process in its group), slow
// (each step is more work than for others). CARAVAN_STEP_MILLISECONDS is the length of a step.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "caravan/v1alpha1/rank.pb.h"
#include "common/file_contents.h"
#include "common/json.h"

namespace caravan::agent {
namespace {

using v1alpha1::RankReport;

using Rule = std::map<std::string, std::string>;

std::vector<Rule> parse_script(const std::string& script) {
  std::vector<Rule> rules;
  std::istringstream parts(script);
  for (std::string part; std::getline(parts, part, ';');) {
    std::istringstream words(part);
    Rule& rule = rules.emplace_back();
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      rule[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
    }
  }
  return rules;
}

class ScriptedRank {
 public:
  explicit ScriptedRank(v1alpha1::RankConfig config) : config_(std::move(config)) {
    const char* script = std::getenv("CARAVAN_SCRIPT");
    if (script != nullptr) rules_ = parse_script(script);
    if (const char* text = std::getenv("CARAVAN_STEP_MILLISECONDS"))
      step_time_ = std::chrono::milliseconds(std::atoi(text));
    fcntl(config_.command_fd(), F_SETFL, O_NONBLOCK);
  }

  int run() {
    fmt::print("rank {} of {} starts\n", config_.rank(), config_.world_size());
    act(0);
    RankReport started;
    started.mutable_started()->set_rank(config_.rank());
    started.mutable_started()->set_process_id(getpid());
    report(started);
    int last = config_.spec().training().steps();
    int step = 0;
    while (step < last) {
      std::this_thread::sleep_for(step_time_);
      report_step(++step);
      act(step);
      if (const auto stop = read_command()) last = std::min(last, std::max(step, *stop));
    }
    RankReport finished;
    finished.mutable_finished()->set_step(step);
    report(finished);
    return 0;
  }

 private:
  void say(const std::string& line) {
    const std::string text = line + "\n";
    if (write(config_.report_fd(), text.data(), text.size()) < 0) std::exit(1);
  }

  void report(const RankReport& message) { say(to_json(message)); }

  void report_step(int number) {
    RankReport message;
    v1alpha1::StepReport& step = *message.mutable_step();
    step.set_step(number);
    step.set_loss(10.0 / number);
    step.set_gradient_norm(1);
    step.set_learning_rate(1e-3);
    step.set_seconds(std::chrono::duration<double>(step_time_).count());
    step.set_tokens(64);
    step.set_rank_tokens(64.0 / config_.world_size());
    step.set_model_flops(1e6);
    step.set_hardware_flops(2e6);
    step.set_work_seconds(is_slow_ ? 1.5 : 1);
    step.mutable_phase_seconds()->set_forward(0.25);
    step.mutable_phase_seconds()->set_backward(0.5);
    v1alpha1::CollectiveCount& collective = *step.add_collectives();
    collective.set_operation("all_reduce");
    collective.set_axis("data");
    collective.set_bytes(1000);
    collective.set_seconds(0.125);
    step.set_peak_bytes(1000 + config_.rank());
    report(message);
  }

  std::optional<int> read_command() {
    char buffer[4096];
    const ssize_t count = read(config_.command_fd(), buffer, sizeof buffer);
    if (count <= 0) return std::nullopt;
    const auto command =
        from_json<v1alpha1::RankCommand>(std::string_view(buffer, static_cast<std::size_t>(count - 1)));
    return command && command->has_stop_after_step() ? std::optional(command->stop_after_step())
                                                     : std::nullopt;
  }

  void act(int step) {
    const auto holds = [](const Rule& rule, const char* key, int value) {
      const auto entry = rule.find(key);
      return entry == rule.end() || std::stoi(entry->second) == value;
    };
    for (const Rule& rule : rules_) {
      const int at = rule.count("step") != 0 ? std::stoi(rule.at("step")) : 0;
      if (at == step && holds(rule, "rank", config_.rank()) && holds(rule, "attempt", config_.attempt()))
        obey(rule);
    }
  }

  void obey(const Rule& rule) {
    const auto argument = [&](const char* key) {
      return rule.count(key) != 0 ? std::optional(rule.at(key)) : std::nullopt;
    };
    if (const auto text = argument("log")) std::cerr << *text << std::endl;
    if (argument("garbage")) say("no json");
    if (argument("overlong")) say(std::string(3 << 20, ' ') + R"({"finished": {"step": 99}})");
    if (argument("slow")) is_slow_ = true;
    if (argument("child") && fork() == 0) pause();
    if (const auto reason = argument("fail")) fail(*reason);
    if (const auto code = argument("exit")) _exit(std::stoi(*code));
    if (const auto number = argument("signal")) raise(std::stoi(*number));
    if (argument("quit")) _exit(0);
    if (argument("await")) {
      pollfd command{config_.command_fd(), POLLIN, 0};
      poll(&command, 1, -1);
    }
    if (argument("hang")) {
      while (true) pause();
    }
  }

  [[noreturn]] void fail(const std::string& reason) {
    RankReport message;
    message.mutable_failure()->set_reason(reason);
    message.mutable_failure()->set_message("as the script says");
    report(message);
    _exit(1);
  }

  v1alpha1::RankConfig config_;
  std::vector<Rule> rules_;
  std::chrono::milliseconds step_time_{0};
  bool is_slow_ = false;
};

}  // namespace
}  // namespace caravan::agent

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto config = caravan::file_contents(argv[2]).and_then(caravan::from_json<caravan::v1alpha1::RankConfig>);
  if (!config) {
    std::cerr << config.error().message << '\n';
    return 2;
  }
  return caravan::agent::ScriptedRank(std::move(*config)).run();
}
