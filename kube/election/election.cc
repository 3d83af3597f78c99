#include "kube/election/election.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kube/api/object.h"
#include "kube/api/timestamp.h"

namespace caravan::kube {
namespace {

using std::chrono::milliseconds;

// So that candidates do not all ask at once (client-go's JitterFactor).
constexpr double kJitter = 1.2;

std::string holder_of(const Json& lease) {
  return text_at(lease, {"spec", "holderIdentity"});
}

// As an installation brings it. Whoever gives a lease back leaves the number of its transitions.
bool never_held(const Json& lease) {
  return holder_of(lease).empty() && !integer_at(lease, {"spec", "leaseTransitions"});
}

// `before`: the lease as it stands, or null when there is none.
Json record(const ElectionConfig& config, const Json& before, const std::string& holder,
            Clock::WallTime wall) {
  const bool same_holder = !before.is_null() && holder_of(before) == holder;
  const std::string now = to_timestamp(wall);
  const std::int64_t transitions = integer_at(before, {"spec", "leaseTransitions"}).value_or(0);
  Json lease = before.is_object()
                   ? without_managed_fields(before)
                   : Json(JsonObject{{"apiVersion", "coordination.k8s.io/v1"},
                                     {"kind", "Lease"},
                                     {"metadata", JsonObject{{"namespace", config.lease.name_space},
                                                             {"name", config.lease.name}}}});
  lease.get_object()["spec"] =
      JsonObject{{"holderIdentity", holder},
                 {"leaseDurationSeconds", config.lease_duration.count()},
                 {"acquireTime", same_holder ? text_at(before, {"spec", "acquireTime"}) : now},
                 {"renewTime", now},
                 {"leaseTransitions", before.is_null() || same_holder ? transitions : transitions + 1}};
  return lease;
}

class Step {
 public:
  Step(ElectionState& state, const ElectionMoment& moment)
      : state_(state), was_creating_(std::exchange(state.creating, false)), moment_(moment) {}

  ElectionAction on(const ElectionTick&) {
    if (!state_.leading) return ReadLease{};
    if (too_late()) return step_down("the lease could not be renewed in time");
    return write();
  }

  ElectionAction on(LeaseRead& read) {
    const bool changed = version_of(read.lease) != version_of(state_.lease);
    if (changed) {
      state_.changed_at = moment_.now;
      state_.replaced = never_held(read.lease) && (state_.replaced || !holder_of(state_.lease).empty());
    }
    state_.lease = std::move(read.lease);
    const std::string holder = holder_of(state_.lease);
    if (state_.leading) {
      if (is_of_another(holder)) return step_down(fmt::format("the lease is held by '{}'", holder));
      return too_late() ? step_down("the lease could not be renewed in time") : write();
    }
    const bool is_free = holder.empty() && !state_.replaced;
    return is_free || expired() ? write() : wait();
  }

  ElectionAction on(LeaseWritten& written) {
    state_.lease = std::move(written.lease);
    state_.changed_at = moment_.now;
    if (holder_of(state_.lease) != state_.config.identity) return wait();
    state_.leading = true;
    state_.leader_until = state_.sent_at + state_.config.renew_deadline;
    return too_late() ? step_down("the renewal of the lease was answered too late") : wait();
  }

  ElectionAction on(const LeaseCallFailed& failed) {
    if (state_.leading && too_late()) return step_down(failed.error.message);
    // Not of a lease that was to be made: its namespace is missing.
    if (failed.error.is_not_found() && !was_creating_) return create();
    // Our own renewal whose answer was lost, another holder, or a lease that was deleted: a look says which.
    const bool changed = failed.error.is_conflict() || failed.error.is_already_exists();
    return changed && state_.leading ? ElectionAction(ReadLease{}) : wait();
  }

 private:
  // And not of nobody: whoever makes a missing lease, or installs it anew, names no leader.
  bool is_of_another(const std::string& holder) const {
    return !holder.empty() && holder != kUnknownHolder && holder != state_.config.identity;
  }

  bool too_late() const { return moment_.now >= state_.leader_until; }

  bool expired() const {
    const auto seconds = integer_at(state_.lease, {"spec", "leaseDurationSeconds"});
    const auto duration = seconds ? std::chrono::seconds(*seconds) : state_.config.lease_duration;
    return moment_.now - state_.changed_at >= duration;
  }

  ElectionAction write() {
    state_.sent_at = moment_.now;
    return ReplaceLease{record(state_.config, state_.lease, state_.config.identity, moment_.wall)};
  }

  ElectionAction create() {
    state_.sent_at = moment_.now;
    state_.creating = true;
    const std::string holder = state_.leading ? state_.config.identity : kUnknownHolder;
    return CreateLease{record(state_.config, nullptr, holder, moment_.wall)};
  }

  ElectionAction wait() const {
    const auto period = std::chrono::duration_cast<milliseconds>(state_.config.retry_period);
    if (!state_.leading) {
      const double stretch = 1.0 + moment_.random * (kJitter - 1.0);
      return ElectionWait{
          milliseconds(static_cast<milliseconds::rep>(static_cast<double>(period.count()) * stretch))};
    }
    const auto left = std::chrono::ceil<milliseconds>(state_.leader_until - moment_.now);
    return ElectionWait{std::min(period, left)};
  }

  ElectionAction step_down(std::string why) {
    state_.leading = false;
    return StepDown{std::move(why)};
  }

  ElectionState& state_;
  const bool was_creating_;  // the call that has come to its end
  const ElectionMoment& moment_;
};

}  // namespace

ElectionStep step(ElectionState state, ElectionInput input, const ElectionMoment& moment) {
  Step next(state, moment);
  ElectionAction action = std::visit([&](auto& outcome) { return next.on(outcome); }, input);
  return {.state = std::move(state), .action = std::move(action)};
}

Json released(const ElectionConfig& config, const Json& lease, Clock::WallTime wall) {
  Json free = record(config, lease, "", wall);
  JsonObject& spec = free.get_object()["spec"].get_object();
  spec["leaseDurationSeconds"] = 1;
  spec["leaseTransitions"] = integer_at(lease, {"spec", "leaseTransitions"}).value_or(0);
  return free;
}

}  // namespace caravan::kube
