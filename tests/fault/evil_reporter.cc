// A tenant's own coordinator: tells the operator what cannot be true, as fast as it can.
//   caravan-evil-reporter ADDRESS NAME AUTHORITY_FILE TOKEN_FILE
// ADDRESS is an operator's, NAME the one in its certificate. On connections of their own, threads open
// streams and come again whenever one is ended or no more is taken of it. At the end of its standard input it
// says as JSON how much it told: what gRPC took to send, read by the operator or not.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <iostream>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "common/file_contents.h"
#include "common/json.h"

namespace caravan {
namespace {

using std::chrono::steady_clock;
using v1alpha1::JobReport;

constexpr int kMost = std::numeric_limits<int>::max();
constexpr int kThreads = 2;
constexpr std::size_t kSmallLiesToALargeOne = 16;
constexpr long kStreamsToOneOfGarbage = 8;
constexpr std::chrono::milliseconds kStream{300};  // then whatever is told is held up for long
constexpr std::chrono::milliseconds kPause{10};    // after a stream that took nothing

JobReport step(double number, int step = 1) {
  JobReport report;
  v1alpha1::JobStep& told = *report.mutable_step();
  told.set_attempt(1);
  told.set_step(step);
  told.set_loss(number);
  told.set_seconds(number);
  told.set_tokens_per_second(number);
  told.set_mfu(number);
  return report;
}

JobReport event(int attempt) {
  JobReport report;
  v1alpha1::JobEvent& told = *report.mutable_event();
  told.set_attempt(attempt);
  told.set_restarting(true);
  told.set_counts(true);
  told.set_reason(std::string(10'000, 'r'));
  told.set_message(std::string(10'000, '\x1B'));
  return report;
}

JobReport of_a_thousand_ranks() {
  JobReport report = step(std::nan(""));
  for (int rank = 0; rank < 1000; ++rank)
    report.mutable_step()->add_peak_bytes_per_rank(std::numeric_limits<long>::min());
  return report;
}

JobReport attempt(int number) {
  JobReport report;
  report.mutable_attempt_started()->set_attempt(number);
  return report;
}

// A step whose bytes are none of a message.
JobReport garbage() {
  JobReport report;
  report.GetReflection()->MutableUnknownFields(&report)->AddLengthDelimited(JobReport::kStepFieldNumber,
                                                                            std::string(64, '\xFF'));
  return report;
}

// Each is impossible in its own way; none of them ends the job, so that there is always one to speak for.
std::vector<JobReport> lies() {
  const std::array<JobReport, 6> small{step(std::nan("")), step(-1e308),   step(1e308),
                                       step(HUGE_VAL),     attempt(kMost), step(1, kMost)};
  const std::array<JobReport, 3> large{event(kMost - 1), event(1), of_a_thousand_ranks()};
  std::vector<JobReport> all;
  for (const JobReport& one : large) {
    for (std::size_t i = 0; i < kSmallLiesToALargeOne; ++i) all.push_back(small[i % small.size()]);
    all.push_back(one);
  }
  return all;
}

bool goes_on() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) == 0;
}

class Liar {
 public:
  Liar(std::string address, std::string name, const char* authority, const char* token)
      : address_(std::move(address)), name_(std::move(name)), token_file_(token) {
    tls_.pem_root_certs = file_contents(authority).value_or("");
  }

  void tell() {
    const auto stub = v1alpha1::JobReports::NewStub(own_connection());
    while (goes_on()) {
      if (tell_on_a_stream(*stub) == 0) std::this_thread::sleep_for(kPause);
    }
  }

  std::string summary() const {
    const std::chrono::duration<double> since = steady_clock::now() - began_;
    return fmt::format(R"({{"told": {}, "seconds": {:.1f}, "streams": {}, "last": {}}})", told_.load(),
                       since.count(), streams_.load(), json_string(last_));
  }

 private:
  std::shared_ptr<grpc::Channel> own_connection() const {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(name_);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address_, grpc::SslCredentials(tls_), arguments);
  }

  long tell_on_a_stream(v1alpha1::JobReports::Stub& stub) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kStream);
    context.AddMetadata("authorization", "Bearer " + file_contents(token_file_).value_or(""));
    const auto stream = stub.Report(&context);
    if (++streams_ % kStreamsToOneOfGarbage == 0) stream->Write(garbage_);
    long told = 0;
    while (stream->Write(lies_[static_cast<std::size_t>(told) % lies_.size()])) ++told;
    told_ += told;
    const grpc::Status status = stream->Finish();
    const std::scoped_lock lock(mutex_);
    last_ = fmt::format("{} {}", static_cast<int>(status.error_code()), status.error_message());
    return told;
  }

  const std::string address_;
  const std::string name_;
  const char* const token_file_;
  grpc::SslCredentialsOptions tls_;
  const std::vector<JobReport> lies_ = lies();
  const JobReport garbage_ = garbage();
  const steady_clock::time_point began_ = steady_clock::now();
  std::atomic<long> told_ = 0;
  std::atomic<long> streams_ = 0;
  mutable std::mutex mutex_;
  std::string last_;
};

int run(const char* address, const char* name, const char* authority, const char* token) {
  Liar liar(address, name, authority, token);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([&liar] { liar.tell(); });
  }
  std::cout << liar.summary() << std::endl;
  return 0;
}

}  // namespace
}  // namespace caravan

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  return caravan::run(argv[1], argv[2], argv[3], argv[4]);
}
