#include "worker/agent/blame.h"

#include <tuple>
#include <utility>

#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {
namespace {

// A rank that dies closes its connections before its end can be seen, so that others may end first.
constexpr std::chrono::milliseconds kCauseMayFollow{500};

}  // namespace

void Blame::add(Death death, TimePoint now) {
  const auto order = [](const Death& d) { return std::tuple(is_symptom(d), d.died_at, d.exit.rank()); };
  if (!cause_awaited_) cause_awaited_ = now + kCauseMayFollow;
  if (!first_death_ || order(death) < order(*first_death_)) first_death_ = std::move(death);
}

bool Blame::is_symptom(const Death& death) {
  return death.exit.failure().reason() == reasons::kRankCommunication;
}

bool Blame::is_settled() const {
  return cause_ && cause_->reason != reasons::kPreempted;
}

Failure Blame::failure() const {
  return is_settled() || (cause_ && !a_rank_failed()) ? *cause_ : describe_death(*first_death_);
}

}  // namespace caravan::agent
