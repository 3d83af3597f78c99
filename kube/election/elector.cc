#include "kube/election/elector.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/random_hex.h"
namespace caravan::kube {
namespace {

constexpr std::chrono::seconds kShortestCall{1};

// A hung call must leave time for another one before the renew deadline.
ClientOptions lease_options(ClientOptions options, const ElectionConfig& config) {
  options.call_timeout = std::max<std::chrono::milliseconds>(kShortestCall, config.renew_deadline / 2);
  options.retry.tries = 1;
  options.may_write = {};
  return options;
}

ResourcePath path_of(const ElectionConfig& config) {
  return {.resource = kLeases, .name_space = config.lease.name_space};
}

ElectionInput as_input(ApiResult<Json> answer, bool is_write) {
  if (!answer) return LeaseCallFailed{std::move(answer.error())};
  if (is_write) return LeaseWritten{std::move(*answer)};
  return LeaseRead{std::move(*answer)};
}

}  // namespace

std::string process_identity() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}_{}", host.data(), random_hex(64));
}

Elector::Elector(const ClientConfig& server, Clock& clock, Random random, Observer& observer,
                 const ClientOptions& options, ElectionConfig config)
    : credentials_(server, clock),
      transport_(peer_of(server), credentials_, clock, {.calls_at_once = 1}),
      client_(transport_, credentials_, clock, random, lease_options(options, config), observer),
      clock_(clock),
      random_(std::move(random)),
      observer_(observer),
      state_(std::move(config)) {}

Elector::Outcome Elector::run(const std::stop_token& stop, const std::function<void()>& on_elected) {
  ElectionInput input = ElectionTick{};
  bool elected = false;
  while (!stop.stop_requested()) {
    ElectionStep next = step(std::move(state_), std::move(input),
                             {.now = clock_.now(), .wall = clock_.wall_now(), .random = random_()});
    state_ = std::move(next.state);
    leader_until_ = state_.leading ? state_.leader_until.time_since_epoch().count() : 0;
    if (const auto* lost = std::get_if<StepDown>(&next.action)) {
      observer_.on_warning(fmt::format("leadership is lost: {}", lost->why));
      return Outcome::kLost;
    }
    if (state_.leading && !std::exchange(elected, true)) on_elected();
    const Clock::TimePoint latest = state_.leading ? state_.leader_until : Clock::kNever;
    input = perform({.stop = stop, .deadline = latest}, next.action);
    if (!stop.stop_requested()) warn_of(input, std::holds_alternative<ReadLease>(next.action));
  }
  return Outcome::kStopped;
}

// Once, of what lasts. That others write, and that there is no lease yet, is the usual course.
void Elector::warn_of(const ElectionInput& outcome, bool was_read) {
  if (std::holds_alternative<ElectionTick>(outcome)) return;
  const auto* failed = std::get_if<LeaseCallFailed>(&outcome);
  std::string trouble;
  if (failed != nullptr && !failed->error.is_conflict() && !failed->error.is_already_exists() &&
      !(was_read && failed->error.is_not_found()))
    trouble = failed->error.message;
  if (!trouble.empty() && trouble != warned_)
    observer_.on_warning(fmt::format("the lease {}: {}", to_string(state_.config.lease), trouble));
  if (failed == nullptr || !trouble.empty()) warned_ = trouble;
}

ElectionInput Elector::perform(const CallContext& context, const ElectionAction& action) {
  const ResourcePath path = path_of(state_.config);
  if (const auto* create = std::get_if<CreateLease>(&action)) {
    return as_input(client_.create(context, path, create->lease), true);
  }
  if (const auto* replace = std::get_if<ReplaceLease>(&action)) {
    return as_input(client_.replace(context, path, replace->lease), true);
  }
  if (const auto* wait = std::get_if<ElectionWait>(&action)) {
    clock_.sleep_until(clock_.now() + wait->duration, context.stop);
    return ElectionTick{};
  }
  return as_input(client_.get(context, path, state_.config.lease.name), false);
}

ApiStatus Elector::release(const CallContext& context) {
  leader_until_ = 0;
  state_.leading = false;
  const ResourcePath path = path_of(state_.config);
  // A write that the stop interrupted, even the first one, may have reached the server.
  auto lease = client_.get(context, path, state_.config.lease.name);
  if (!lease) return tl::unexpected(std::move(lease.error()));
  if (text_at(*lease, {"spec", "holderIdentity"}) != state_.config.identity) return {};
  return client_.replace(context, path, released(state_.config, *lease, clock_.wall_now()))
      .map([](const Json&) {});
}

bool Elector::healthy() const {
  const Clock::Duration::rep until = leader_until_;
  if (until == 0) return true;
  const Clock::TimePoint deadline{Clock::Duration(until)};
  return clock_.now() < deadline + state_.config.lease_duration;
}

}  // namespace caravan::kube
