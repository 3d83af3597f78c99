#include <csignal>

#include "common/environment.h"
#include "operator/installation_check.h"
#include "operator/operator.h"
#include "operator/options.h"
#include "serving/program.h"

int main(int argc, char** argv) {
  using namespace caravan::controller;
  const ParsedOptions parsed = parse_options(argc, argv);
  if (const auto* done = std::get_if<caravan::ExitCode>(&parsed)) return static_cast<int>(*done);
  caravan::set_up_grpc();
  std::signal(SIGPIPE, SIG_IGN);
  if (const auto* check = std::get_if<CheckOptions>(&parsed)) {
    return caravan::run_program("info", [&](int signal_fd) {
      caravan::end_at_once_on_signal(signal_fd);
      return run_check(*check);
    });
  }
  const auto& options = std::get<OperatorOptions>(parsed);
  return caravan::run_program(options.log_level,
                              [&](int signal_fd) { return run_operator(options, signal_fd); });
}
