// People who call the job service: what it takes, and how long they wait.
//
// Usage: service_load ADDRESS AUTHORITY TOKENS get JOBS AT_ONCE RATE SECONDS
//        service_load ADDRESS AUTHORITY TOKENS watch WATCHERS CHANGES
//        service_load ADDRESS AUTHORITY TOKENS estimate CALLS DEVICES
//
// AUTHORITY: file of the certificate that signed the service's. TOKENS: file with one caller's token a line;
// each caller has a connection of his own, and all take turns. The jobs are bench-0, bench-1, ... of the
// namespace default.
//   get: each of AT_ONCE callers asks again as soon as he has his answer (RATE 0), or RATE calls a second
//   begin whether others have their answers or not, and a call is as late as its turn was.
//   watch: the moment of a change, by the steady clock in nanoseconds, is the job's annotation "changed".
//
// Prints "ready", begins with the next line of its input, prints one line of JSON with the figures and ends
// with its input, so that whoever measures can read its processor time.
#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "caravan/v1alpha1/job_service.grpc.pb.h"
#include "common/file_contents.h"

namespace caravan::bench {
namespace {

using namespace v1alpha1;
using SteadyClock = std::chrono::steady_clock;

constexpr char kParent[] = "namespaces/default";
constexpr std::string_view kChanged =
    "\n\x07"
    "changed"
    "\x12";  // an entry of a map over the wire, but for its value
constexpr std::chrono::seconds kPatience{120};

[[noreturn]] void end_with(const std::string& message) {
  fmt::print(stderr, "{}\n", message);
  std::exit(EXIT_FAILURE);
}

// How long each of many things took, from any thread.
class Times {
 public:
  void add(SteadyClock::duration took) {
    const std::scoped_lock lock(mutex_);
    milliseconds_.push_back(std::chrono::duration<double, std::milli>(took).count());
  }
  std::size_t count() {
    const std::scoped_lock lock(mutex_);
    return milliseconds_.size();
  }
  // The members of an object of JSON.
  std::string text() {
    const std::scoped_lock lock(mutex_);
    std::ranges::sort(milliseconds_);
    const auto at = [this](double share) {
      if (milliseconds_.empty()) return 0.0;
      return milliseconds_[static_cast<std::size_t>(share * static_cast<double>(milliseconds_.size() - 1))];
    };
    return fmt::format(R"("count": {}, "p50Milliseconds": {:.2f}, "p99Milliseconds": {:.2f})",
                       milliseconds_.size(), at(0.5), at(0.99));
  }

 private:
  std::mutex mutex_;
  std::vector<double> milliseconds_;
};

struct Caller {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<JobService::Stub> stub;
  std::string token;

  void introduce(grpc::ClientContext& context) const {
    context.AddMetadata("authorization", "Bearer " + token);
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
  }
};

std::vector<Caller> read_callers(const std::string& address, const std::string& authority,
                                 const std::string& tokens) {
  const auto certificate = file_contents(authority);
  if (!certificate) end_with(certificate.error().message);
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = *certificate;
  std::vector<Caller> callers;
  std::ifstream file(tokens);
  for (std::string token; std::getline(file, token);) {
    grpc::ChannelArguments own_connection;
    own_connection.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    auto channel = grpc::CreateCustomChannel(address, grpc::SslCredentials(tls), own_connection);
    auto stub = JobService::NewStub(channel);
    callers.push_back({std::move(channel), std::move(stub), token});
  }
  if (callers.empty()) end_with(fmt::format("{}: no tokens", tokens));
  return callers;
}

void await_start() {
  std::cout << "ready" << std::endl;
  std::string line;
  std::getline(std::cin, line);
}

void tell(const std::string& members) {
  std::cout << "{" << members << "}" << std::endl;
  std::string line;
  std::getline(std::cin, line);
}

class GetLoad {
 public:
  explicit GetLoad(int jobs) : jobs_(jobs) {}

  // In turn, each after the answer to the one before.
  void ask_again_and_again(const Caller& caller, SteadyClock::time_point end) {
    while (SteadyClock::now() < end) {
      GetJobRequest request = next_request();
      grpc::ClientContext context;
      caller.introduce(context);
      Job job;
      const auto began = SteadyClock::now();
      note(caller.stub->GetJob(&context, request, &job), began);
    }
  }

  // At that moment, whether others have their answers or not; the answer is taken by a thread of gRPC.
  void ask(const Caller& caller, SteadyClock::time_point turn) {
    struct Asked {
      grpc::ClientContext context;
      GetJobRequest request;
      Job job;
    };
    const auto asked = std::make_shared<Asked>();
    caller.introduce(asked->context);
    asked->request = next_request();
    ++open_;
    caller.stub->async()->GetJob(&asked->context, &asked->request, &asked->job,
                                 [this, asked, turn](const grpc::Status& status) {
                                   note(status, turn);
                                   --open_;
                                 });
  }

  void close() {
    while (open_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::string text(double seconds) {
    return fmt::format(R"({}, "callsPerSecond": {:.0f}, "failures": {})", times_.text(),
                       static_cast<double>(times_.count()) / seconds, failures_.load());
  }

 private:
  GetJobRequest next_request() {
    GetJobRequest request;
    request.set_name(fmt::format("{}/jobs/bench-{}", kParent, next_++ % jobs_));
    return request;
  }

  void note(const grpc::Status& status, SteadyClock::time_point began) {
    if (status.ok()) return times_.add(SteadyClock::now() - began);
    if (failures_++ == 0) fmt::print(stderr, "GetJob: {}\n", status.error_message());
  }

  const int jobs_;
  std::atomic<int> next_ = 0;
  std::atomic<int> open_ = 0;
  std::atomic<int> failures_ = 0;
  Times times_;
};

// The service knows each of them from then on, as it does all but once in a while.
void get_known(const std::vector<Caller>& callers) {
  for (const Caller& caller : callers) {
    grpc::ClientContext context;
    caller.introduce(context);
    GetJobRequest request;
    request.set_name(fmt::format("{}/jobs/bench-0", kParent));
    Job job;
    const grpc::Status status = caller.stub->GetJob(&context, request, &job);
    if (!status.ok()) end_with(status.error_message());
  }
}

void get(std::vector<Caller>& callers, int jobs, int at_once, int rate, int seconds) {
  GetLoad load(jobs);
  get_known(callers);
  await_start();
  const auto began = SteadyClock::now();
  const auto end = began + std::chrono::seconds(seconds);
  if (rate == 0) {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(at_once));
    for (int i = 0; i < at_once; ++i)
      threads.emplace_back(
          [&, i] { load.ask_again_and_again(callers[static_cast<std::size_t>(i) % callers.size()], end); });
  } else {
    for (int i = 0; i < rate * seconds; ++i) {
      const auto turn = began + std::chrono::nanoseconds(std::chrono::seconds(1)) * i / rate;
      std::this_thread::sleep_until(turn);
      load.ask(callers[static_cast<std::size_t>(i) % callers.size()], turn);
    }
    load.close();
  }
  const std::chrono::duration<double> took = SteadyClock::now() - began;
  tell(load.text(took.count()));
}

// What one stream of WatchJobs tells. Looks for what it needs in the bytes, since all watchers share the
// processors with the service, and elsewhere none would.
class Watcher final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Watcher(const Caller& caller, Times& delays) : stub_(caller.channel), delays_(delays) {
    caller.introduce(context_);
    WatchJobsRequest request;
    request.set_parent(kParent);
    const grpc::Slice slice(request.SerializeAsString());
    request_ = grpc::ByteBuffer(&slice, 1);
    stub_.PrepareBidiStreamingCall(&context_, "/caravan.v1alpha1.JobService/WatchJobs", {}, this);
    StartWriteLast(&request_, {});
    StartRead(&response_);
    StartCall();
  }

  void await_completeness() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [this] { return complete_ || done_; }) || done_)
      end_with("WatchJobs ended before all jobs were told: " + status_.error_message());
  }
  // Whether it was still open.
  bool close() {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return status_.error_code() == grpc::StatusCode::CANCELLED;
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    const std::string message = bytes_of(response_);
    if (const auto moment = change_in(message)) {
      const auto now = std::chrono::nanoseconds(SteadyClock::now().time_since_epoch());
      delays_.add(now - std::chrono::nanoseconds(*moment));
    } else if (is_complete(message)) {
      const std::scoped_lock lock(mutex_);
      complete_ = true;
      changed_.notify_all();
    }
    response_.Clear();
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    const std::scoped_lock lock(mutex_);
    status_ = status;
    done_ = true;
    changed_.notify_all();
  }

  static std::string bytes_of(const grpc::ByteBuffer& buffer) {
    std::vector<grpc::Slice> slices;
    if (!buffer.Dump(&slices).ok()) end_with("WatchJobs: a message cannot be read");
    std::string bytes;
    for (const grpc::Slice& slice : slices)
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return bytes;
  }
  static std::optional<long long> change_in(const std::string& message) {
    const std::size_t key = message.find(kChanged);
    if (key == std::string::npos) return std::nullopt;
    const std::size_t digits = key + kChanged.size() + 1;  // behind their number
    return std::strtoll(message.c_str() + digits, nullptr, 10);
  }
  static bool is_complete(const std::string& message) {
    constexpr std::size_t kLongest = 100;  // that of a message without a job
    WatchJobsResponse response;
    return message.size() < kLongest && response.ParseFromString(message) &&
           response.kind() == WatchJobsResponse::Complete;
  }

  grpc::GenericStub stub_;
  Times& delays_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool complete_ = false;
  bool done_ = false;
  grpc::Status status_;
};

void watch(std::vector<Caller>& callers, std::size_t count, std::size_t changes) {
  Times delays;
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (std::size_t i = 0; i < count; ++i) {
    watchers.push_back(std::make_unique<Watcher>(callers[i % callers.size()], delays));
    watchers.back()->await_completeness();
  }
  await_start();
  const auto end = SteadyClock::now() + kPatience;
  while (delays.count() < count * changes && SteadyClock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::size_t open = 0;
  for (const auto& watcher : watchers) open += watcher->close() ? 1 : 0;
  tell(fmt::format(R"({}, "expected": {}, "open": {})", delays.text(), count * changes, open));
}

EstimateJobRequest estimate_request(int devices) {
  EstimateJobRequest request;
  request.set_parent(kParent);
  JobSpec& spec = *request.mutable_job()->mutable_spec();
  spec.mutable_model()->set_preset("llama3-8b");
  spec.mutable_data()->set_claim_name("corpus");
  spec.mutable_data()->set_path("train");
  spec.mutable_training()->set_steps(1000);
  spec.mutable_training()->set_sequence_length(8192);
  spec.mutable_training()->set_global_batch_sequences(2 * devices);
  spec.mutable_resources()->set_devices(devices);
  spec.mutable_resources()->set_devices_per_node(8);
  spec.mutable_resources()->mutable_device()->set_product("H100-80GB");
  return request;
}

void estimate(std::vector<Caller>& callers, int calls, int devices) {
  const EstimateJobRequest request = estimate_request(devices);
  get_known(callers);
  Times times;
  await_start();
  const auto began = SteadyClock::now();
  for (int i = 0; i < calls; ++i) {
    grpc::ClientContext context;
    callers.front().introduce(context);
    EstimateJobResponse response;
    const auto asked = SteadyClock::now();
    const grpc::Status status = callers.front().stub->EstimateJob(&context, request, &response);
    if (!status.ok()) end_with("EstimateJob: " + status.error_message());
    if (!response.estimates(0).fits()) end_with("EstimateJob: " + response.estimates(0).reason());
    times.add(SteadyClock::now() - asked);
  }
  const std::chrono::duration<double> took = SteadyClock::now() - began;
  tell(fmt::format(R"({}, "seconds": {:.3f})", times.text(), took.count()));
}

int run(const std::vector<std::string>& given) {
  const auto number = [&](std::size_t at) { return std::atoi(given[at].c_str()); };
  const std::string what = given.size() > 3 ? given[3] : "";
  const bool is_known = (what == "get" && given.size() == 8) || (what == "watch" && given.size() == 6) ||
                        (what == "estimate" && given.size() == 6);
  if (!is_known) end_with("usage: service_load ADDRESS AUTHORITY TOKENS get|watch|estimate NUMBER...");
  std::vector<Caller> callers = read_callers(given[0], given[1], given[2]);
  if (what == "get") get(callers, number(4), number(5), number(6), number(7));
  if (what == "watch")
    watch(callers, static_cast<std::size_t>(number(4)), static_cast<std::size_t>(number(5)));
  if (what == "estimate") estimate(callers, number(4), number(5));
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace caravan::bench

int main(int argc, char** argv) {
  return caravan::bench::run({argv + 1, argv + argc});
}
