#include "worker/agent/host.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "worker/agent/job_file.h"

namespace caravan::agent {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kTheRest{1000};
constexpr milliseconds kFarewell{2000};
constexpr milliseconds kAcknowledgement{5000};

// Whole or not at all, since somebody waits for it.
Status write_address(const std::string& address, const std::string& path) {
  const std::string partial = path + ".partial";
  std::ofstream file(partial);
  file << address << '\n';
  std::error_code problem;
  if (file.flush()) {
    fs::rename(partial, path, problem);
  } else {
    problem.assign(errno, std::generic_category());
  }
  if (problem)
    return bad_input(fmt::format("--coordinator-address-file: cannot write {}: {}", path, problem.message()));
  return {};
}

}  // namespace

Status Host::start(const v1alpha1::JobPlan& job, const AgentOptions& options,
                   const std::optional<TlsIdentity>& identity) {
  if (!options.reports.empty()) {
    client_ = ReportClient::connect(
        {.address = options.reports,
         .authority_file = options.reports_authority_file,
         .token_file = options.reports_token_file},
        {.stop = [this] { stop_job(); }, .save = [this](const std::string& request) { save_job(request); }});
  }
  log_.emplace(job);
  result_.emplace(options.result_file);
  if (const auto place = event_place(job, options)) {
    const auto folder = std::make_shared<tensorboard::EventFolder>(*place, job.job_uid());
    events_.emplace([folder](int attempt, const auto& step) { return folder->add(attempt, step); });
  }
  CoordinatorServer::ReadLimits limits;
  if (options.losses_judged_elsewhere) {
    limits = [this, options] {
      return read_spec(options).map([this](const v1alpha1::JobSpec& spec) {
        log_->follow(spec);
        return limits_of(spec);
      });
    };
  }
  auto server = CoordinatorServer::start(
      coordinator_config(job, options), {.listen = options.listen, .identity = identity},
      [this](v1alpha1::JobReport report) { tell(std::move(report)); }, std::move(limits));
  if (!server) return tl::unexpected(server.error());
  {
    const std::scoped_lock lock(mutex_);
    server_ = std::move(*server);
    if (save_asked_) server_->request_save(*save_asked_);
    if (stop_asked_) server_->request_stop();
  }
  spdlog::info("the coordinator listens on {}", address());
  return options.coordinator_address_file.empty()
             ? Status()
             : write_address(address(), options.coordinator_address_file);
}

// The server goes first, since it tells the client, which may call back meanwhile.
Host::~Host() {
  std::unique_ptr<CoordinatorServer> server;
  const std::scoped_lock lock(mutex_);
  server = std::move(server_);
}

void Host::tell(v1alpha1::JobReport report) {
  log_->tell(report);
  result_->tell(report);
  if (events_) events_->tell(report);
  if (client_) client_->tell(std::move(report));
}

void Host::stop_job() {
  const std::scoped_lock lock(mutex_);
  stop_asked_ = true;
  if (server_) server_->request_stop();
}

void Host::save_job(const std::string& request) {
  const std::scoped_lock lock(mutex_);
  save_asked_ = request;
  if (server_) server_->request_save(request);
}

void Host::tell_the_rest() {
  if (client_) client_->wait_until_sent(kTheRest);
}

void Host::say_farewell() {
  server_->wait_for_agents(kFarewell);
  if (client_ && !client_->wait_for_acknowledgement(kAcknowledgement))
    spdlog::warn("nobody took the job's result");
}

}  // namespace caravan::agent
