#include <malloc.h>

#include <csignal>

#include "common/environment.h"
#include "service/options.h"
#include "service/service.h"
#include "serving/program.h"

int main(int argc, char** argv) {
  using namespace caravan::service;
  const ParsedOptions parsed = parse_options(argc, argv);
  if (const auto* done = std::get_if<caravan::ExitCode>(&parsed)) return static_cast<int>(*done);
  // Threads of gRPC and of the gate come and go; each with its own arena, they keep what others have freed.
  mallopt(M_ARENA_MAX, 2);
  caravan::set_up_grpc();
  forbid_old_tls();
  std::signal(SIGPIPE, SIG_IGN);
  const auto& options = std::get<ServiceOptions>(parsed);
  return caravan::run_program(options.log_level,
                              [&](int signal_fd) { return run_service(options, signal_fd); });
}
