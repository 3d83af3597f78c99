#include <csignal>
#include <cstdlib>

#include "common/process.h"
#include "common/refusal.h"
#include "service/options.h"
#include "service/service.h"
#include "serving/log.h"

namespace caravan::service {
namespace {

int run(const ServiceOptions& options) {
  start_log(options.log_level);
  // Before any thread is there, so that all of them leave the signals to the descriptor.
  const auto signals = signals_as_descriptor({SIGINT, SIGTERM});
  const Result<ExitCode> end = signals.and_then([&](const UniqueFd& descriptor) {
    return unless_refused([&] { return run_service(options, descriptor.get()); });
  });
  if (end) return static_cast<int>(*end);
  log_line(spdlog::level::err, end.error().message);
  return static_cast<int>(end.error().code);
}

}  // namespace
}  // namespace caravan::service

int main(int argc, char** argv) {
  using namespace caravan::service;
  const ParsedOptions parsed = parse_options(argc, argv);
  if (const auto* done = std::get_if<caravan::ExitCode>(&parsed)) return static_cast<int>(*done);
  setenv("GRPC_VERBOSITY", "NONE", 0);  // failures are told in our own words
  forbid_old_tls();
  std::signal(SIGPIPE, SIG_IGN);
  return run(std::get<ServiceOptions>(parsed));
}
