#include "operator/leadership.h"

#include <sys/eventfd.h>

#include <cstdlib>

#include "common/result.h"
#include "serving/log.h"

namespace caravan::controller {
namespace {

constexpr std::chrono::seconds kReleaseLease{5};

}  // namespace

Leadership::Leadership(const kube::ClientConfig& server, Clock& clock, kube::Observer& observer,
                       const kube::ClientOptions& options, kube::ElectionConfig config)
    : clock_(clock),
      lease_(config.lease),
      elected_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      elector_(server, clock, kube::system_random(), observer, options, std::move(config)) {}

void Leadership::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { take_part(stop); });
}

void Leadership::take_part(const std::stop_token& stop) {
  const auto outcome = elector_.run(stop, [this] { eventfd_write(elected_.get(), 1); });
  if (outcome != kube::Elector::Outcome::kLost) return;
  log_line(spdlog::level::err, "the lease is lost; ending at once", {{"lease", to_string(lease_)}});
  spdlog::default_logger_raw()->flush();  // others may be logging
  std::_Exit(static_cast<int>(ExitCode::kJobFailed));
}

void Leadership::give_back() {
  thread_ = {};
  const auto released = elector_.release({.deadline = clock_.now() + kReleaseLease});
  if (!released)
    log_line(spdlog::level::warn, "the lease could not be given back: " + released.error().message);
}

}  // namespace caravan::controller
