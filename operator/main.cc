#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdlib>

#include "common/json.h"
#include "common/process.h"
#include "operator/operator.h"
#include "operator/options.h"

namespace caravan::controller {
namespace {

// The message as a JSON string.
class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = json_string({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<JsonMessage>(); }
};

void log_json_lines(const std::string& level) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JsonMessage>('*').set_pattern(
      R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%*})");
  auto logger = spdlog::stderr_logger_mt("operator");
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

int run(const OperatorOptions& options) {
  // Before any thread is there, so that all of them leave the signals to the descriptor.
  const auto signals = signals_as_descriptor({SIGINT, SIGTERM});
  const auto end =
      signals.and_then([&](const UniqueFd& descriptor) { return run_operator(options, descriptor.get()); });
  if (end) return static_cast<int>(*end);
  spdlog::error("{}", end.error().message);
  return static_cast<int>(end.error().code);
}

}  // namespace
}  // namespace caravan::controller

int main(int argc, char** argv) {
  using namespace caravan::controller;
  const ParsedOptions parsed = parse_options(argc, argv);
  if (const auto* done = std::get_if<caravan::ExitCode>(&parsed)) return static_cast<int>(*done);
  const auto& options = std::get<OperatorOptions>(parsed);
  setenv("GRPC_VERBOSITY", "NONE", 0);  // failures are told in our own words
  std::signal(SIGPIPE, SIG_IGN);
  log_json_lines(options.log_level);
  return run(options);
}
