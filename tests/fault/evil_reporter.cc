// A tenant's own coordinator: tells the operator what cannot be true, as fast as it can.
//   caravan-evil-reporter ADDRESS NAME AUTHORITY_FILE TOKEN_FILE
// ADDRESS is an operator's, NAME the one in its certificate. Comes again whenever its stream is ended; at the
// end of its standard input it says how much it told.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <thread>

#include "caravan/v1alpha1/coordination.grpc.pb.h"

namespace caravan {
namespace {

using v1alpha1::JobReport;

constexpr int kMost = std::numeric_limits<int>::max();

std::string read(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

JobReport step(double number) {
  JobReport report;
  v1alpha1::JobStep& step = *report.mutable_step();
  step.set_attempt(1);
  step.set_step(1);
  step.set_loss(number);
  step.set_seconds(number);
  step.set_tokens_per_second(number);
  step.set_mfu(number);
  for (int rank = 0; rank < 1000; ++rank) step.add_peak_bytes_per_rank(std::numeric_limits<long>::min());
  return report;
}

// Each is impossible in its own way; none of them ends the job, so that there is always one to speak for.
std::array<JobReport, 8> lies() {
  std::array<JobReport, 8> all{step(std::nan("")), step(-1e308), step(1e308), step(HUGE_VAL)};
  all[4].mutable_attempt_started()->set_attempt(kMost);
  v1alpha1::JobEvent& event = *all[5].mutable_event();
  event.set_attempt(kMost - 1);
  event.set_restarting(true);
  event.set_counts(true);
  event.set_reason(std::string(10'000, 'r'));
  event.set_message(std::string(10'000, '\x1B'));
  all[6] = all[5];
  all[6].mutable_event()->set_attempt(1);
  all[7].mutable_step()->set_attempt(1);
  all[7].mutable_step()->set_step(kMost);
  return all;
}

bool goes_on() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) == 0;
}

int run(const char* address, const char* name, const char* authority, const char* token) {
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = read(authority);
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(name);
  const auto stub =
      v1alpha1::JobReports::NewStub(grpc::CreateCustomChannel(address, grpc::SslCredentials(tls), arguments));
  const auto all = lies();
  long told = 0;
  std::string last;
  while (goes_on()) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + read(token));
    std::jthread end([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && goes_on()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      context.TryCancel();
    });
    const auto stream = stub->Report(&context);
    while (stream->Write(all[static_cast<std::size_t>(told) % all.size()])) ++told;
    end.request_stop();
    last = stream->Finish().error_message();
  }
  std::cout << fmt::format("told {} lies; the last stream ended with: {}\n", told, last);
  return 0;
}

}  // namespace
}  // namespace caravan

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  return caravan::run(argv[1], argv[2], argv[3], argv[4]);
}
