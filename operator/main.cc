#include <csignal>
#include <cstdlib>

#include "common/process.h"
#include "common/refusal.h"
#include "operator/installation_check.h"
#include "operator/operator.h"
#include "operator/options.h"
#include "serving/log.h"

namespace caravan::controller {
namespace {

int tell(const Result<ExitCode>& end) {
  if (end) return static_cast<int>(*end);
  log_line(spdlog::level::err, end.error().message);
  return static_cast<int>(end.error().code);
}

int run(const OperatorOptions& options) {
  start_log(options.log_level);
  // Before any thread is there, so that all of them leave the signals to the descriptor.
  const auto signals = signals_as_descriptor({SIGINT, SIGTERM});
  return tell(signals.and_then([&](const UniqueFd& descriptor) {
    return unless_refused([&] { return run_operator(options, descriptor.get()); });
  }));
}

int run(const CheckOptions& options) {
  start_log("info");
  return tell(unless_refused([&] { return run_check(options); }));
}

}  // namespace
}  // namespace caravan::controller

int main(int argc, char** argv) {
  using namespace caravan::controller;
  const ParsedOptions parsed = parse_options(argc, argv);
  if (const auto* done = std::get_if<caravan::ExitCode>(&parsed)) return static_cast<int>(*done);
  setenv("GRPC_VERBOSITY", "NONE", 0);  // failures are told in our own words
  std::signal(SIGPIPE, SIG_IGN);
  if (const auto* check = std::get_if<CheckOptions>(&parsed)) return run(*check);
  return run(std::get<OperatorOptions>(parsed));
}
