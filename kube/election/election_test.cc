#include "kube/election/election.h"

#include <gtest/gtest.h>

#include <random>

#include "common/testing/turn.h"
#include "kube/api/object.h"

namespace caravan::kube {
namespace {

using namespace std::chrono_literals;

ElectionConfig config(const std::string& identity) {
  return {.identity = identity, .lease = {.name_space = "system", .name = "operator"}};
}

// The lease on the server, with its conflicts. An installation brings it, without a holder.
class LeaseServer {
 public:
  LeaseServer() { install(); }

  void install() {
    store(JsonObject{{"metadata", JsonObject{{"namespace", "system"}, {"name", "operator"}}}});
  }
  void remove() { lease_ = nullptr; }
  void touch() { store(lease_); }
  bool has_namespace = true;

  ElectionInput answer(const ElectionAction& action) {
    if (std::holds_alternative<ReadLease>(action)) {
      if (lease_.is_null()) return LeaseCallFailed{{.message = "not found", .code = 404}};
      return LeaseRead{lease_};
    }
    if (const auto* create = std::get_if<CreateLease>(&action)) {
      if (!has_namespace) return LeaseCallFailed{{.message = "namespaces \"system\" not found", .code = 404}};
      if (lease_.is_null()) return store(create->lease);
      return LeaseCallFailed{{.message = "exists", .code = 409, .reason = "AlreadyExists"}};
    }
    const Json& wanted = std::get<ReplaceLease>(action).lease;
    if (version_of(wanted) != version_of(lease_))
      return LeaseCallFailed{{.message = "conflict", .code = 409}};
    return store(wanted);
  }

  std::string holder() const { return text_at(lease_, {"spec", "holderIdentity"}); }
  std::int64_t transitions() const { return integer_at(lease_, {"spec", "leaseTransitions"}).value_or(-1); }
  const Json& lease() const { return lease_; }

  ElectionInput store(Json lease) {
    lease_ = std::move(lease);
    lease_.get_object()["metadata"].get_object()["resourceVersion"] = std::to_string(++version_);
    return LeaseWritten{lease_};
  }

 private:
  Json lease_ = nullptr;
  int version_ = 0;
};

class Candidate {
 public:
  Candidate(const std::string& identity, LeaseServer& server) : state_(config(identity)), server_(&server) {}

  ElectionAction feed(ElectionInput input, Clock::TimePoint now) {
    ElectionStep next = step(std::move(state_), std::move(input), {.now = now, .wall = {}, .random = 0.0});
    state_ = std::move(next.state);
    return next.action;
  }

  // Until it waits or steps down. `reachable` false: every call fails.
  ElectionAction tick(Clock::TimePoint now, bool reachable = true) {
    ElectionAction action = feed(ElectionTick{}, now);
    while (!std::holds_alternative<ElectionWait>(action) && !std::holds_alternative<StepDown>(action)) {
      ElectionInput outcome =
          reachable ? server_->answer(action) : LeaseCallFailed{{.message = "unreachable"}};
      action = feed(std::move(outcome), now);
    }
    return action;
  }

  bool may_write(Clock::TimePoint now) const { return state_.leading && now < state_.leader_until; }
  const ElectionState& state() const { return state_; }

 private:
  ElectionState state_;
  LeaseServer* server_;
};

class Election : public ::testing::Test {
 protected:
  static bool steps_down(const ElectionAction& action) { return std::holds_alternative<StepDown>(action); }

  LeaseServer server_;
  Candidate a_{"a", server_};
  Candidate b_{"b", server_};
  Clock::TimePoint now_{1h};
};

TEST_F(Election, TheFirstOneTakesTheLeaseAndTheSecondWaits) {
  a_.tick(now_);
  b_.tick(now_);
  EXPECT_TRUE(a_.may_write(now_));
  EXPECT_FALSE(b_.may_write(now_));
  EXPECT_EQ(server_.holder(), "a");
}

TEST_F(Election, WhereTheNamespaceOfTheLeaseIsMissingItIsAwaited) {
  server_.remove();
  server_.has_namespace = false;
  for (int i = 0; i < 3; ++i, now_ += 3s) EXPECT_TRUE(std::holds_alternative<ElectionWait>(a_.tick(now_)));
  server_.has_namespace = true;
  a_.tick(now_);
  EXPECT_EQ(server_.holder(), kUnknownHolder);
  a_.tick(now_ += 16s);
  EXPECT_EQ(server_.holder(), "a");
}

TEST_F(Election, ALeaderThatRenewsStaysOne) {
  for (int i = 0; i < 100; ++i, now_ += 2s) {
    a_.tick(now_);
    b_.tick(now_);
    EXPECT_TRUE(a_.may_write(now_));
    EXPECT_FALSE(b_.may_write(now_));
  }
  EXPECT_EQ(server_.transitions(), 1);
}

TEST_F(Election, ALeaseExpiresByTheTimeThatWeWatchedItNotByTheTimesInIt) {
  a_.tick(now_);
  now_ += 1h;  // b sees a lease that was written long ago for the first time
  b_.tick(now_);
  EXPECT_FALSE(b_.may_write(now_));
  now_ += 14s;
  b_.tick(now_);
  EXPECT_FALSE(b_.may_write(now_));
  now_ += 1s;
  b_.tick(now_);
  EXPECT_TRUE(b_.may_write(now_));
  EXPECT_EQ(server_.transitions(), 2);
}

TEST_F(Election, APausedLeaderAndItsSuccessorNeverMayWriteAtTheSameTime) {
  a_.tick(now_);
  const Clock::TimePoint paused_at = now_;
  for (; now_ < paused_at + 60s; now_ += 500ms) {
    b_.tick(now_);
    EXPECT_FALSE(a_.may_write(now_) && b_.may_write(now_)) << (now_ - paused_at).count();
  }
  EXPECT_TRUE(b_.may_write(now_));
  EXPECT_FALSE(a_.may_write(now_)) << "before a has looked at anything";
  EXPECT_TRUE(steps_down(a_.tick(now_)));
}

TEST_F(Election, TheTimeToActCountsFromSendingTheRenewalNotFromItsAnswer) {
  a_.tick(now_);
  ElectionAction renewal = a_.feed(ElectionTick{}, now_ + 2s);
  ElectionInput answer = server_.answer(renewal);
  a_.feed(std::move(answer), now_ + 9s);
  EXPECT_TRUE(a_.may_write(now_ + 11s));
  EXPECT_FALSE(a_.may_write(now_ + 12s));
}

TEST_F(Election, ALeaderThatCannotRenewStepsDownAtTheDeadlineNotBefore) {
  a_.tick(now_);
  EXPECT_FALSE(steps_down(a_.tick(now_ + 2s, /*reachable=*/false)));
  EXPECT_FALSE(steps_down(a_.tick(now_ + 9s, /*reachable=*/false)));
  EXPECT_TRUE(steps_down(a_.tick(now_ + 10s, /*reachable=*/false)));
}

TEST_F(Election, ARenewalWhoseAnswerWasLostCostsNothing) {
  a_.tick(now_);
  const ElectionAction renewal = a_.feed(ElectionTick{}, now_ + 2s);
  server_.answer(renewal);
  a_.feed(LeaseCallFailed{{.kind = ErrorKind::kBroken, .message = "lost"}}, now_ + 3s);
  a_.tick(now_ + 4s);  // conflict, read, renew
  EXPECT_TRUE(a_.may_write(now_ + 13s));
}

TEST_F(Election, AConflictWithAnotherHolderIsTheEnd) {
  a_.tick(now_);
  Json stolen = server_.lease();
  stolen.get_object()["spec"].get_object()["holderIdentity"] = "b";
  server_.store(stolen);
  const ElectionAction action = a_.tick(now_ + 2s);
  ASSERT_TRUE(steps_down(action));
  EXPECT_EQ(std::get<StepDown>(action).why, "the lease is held by 'b'");
}

TEST_F(Election, OnlyOneOfTwoWinsAnExpiredLease) {
  Candidate dead("dead", server_);
  dead.tick(now_);
  a_.tick(now_);
  b_.tick(now_);
  now_ += 15s;
  const ElectionAction read_a = a_.feed(ElectionTick{}, now_);
  const ElectionAction read_b = b_.feed(ElectionTick{}, now_);
  const ElectionAction write_a = a_.feed(server_.answer(read_a), now_);
  const ElectionAction write_b = b_.feed(server_.answer(read_b), now_);
  a_.feed(server_.answer(write_a), now_);
  b_.feed(server_.answer(write_b), now_);
  EXPECT_TRUE(a_.may_write(now_));
  EXPECT_FALSE(b_.may_write(now_));
}

TEST_F(Election, AReleasedLeaseIsTakenAtOnce) {
  a_.tick(now_);
  server_.store(released(config("a"), server_.lease(), {}));
  b_.tick(now_ + 1s);
  EXPECT_TRUE(b_.may_write(now_ + 1s));
}

TEST_F(Election, ALeaseThatIsMissingFromTheStartIsWaitedForLikeOneThatIsHeld) {
  server_.remove();
  a_.tick(now_);
  EXPECT_EQ(server_.holder(), kUnknownHolder);
  b_.tick(now_);
  a_.tick(now_ + 14s);
  b_.tick(now_ + 14s);
  EXPECT_FALSE(a_.may_write(now_ + 14s) || b_.may_write(now_ + 14s));
  a_.tick(now_ + 15s);
  b_.tick(now_ + 15s);
  EXPECT_TRUE(a_.may_write(now_ + 15s));
  EXPECT_FALSE(b_.may_write(now_ + 15s));
}

TEST_F(Election, ALeaderMakesADeletedLeaseAnew) {
  a_.tick(now_);
  server_.remove();
  a_.tick(now_ + 2s);
  EXPECT_EQ(server_.holder(), "a");
  EXPECT_TRUE(a_.may_write(now_ + 11s));
}

TEST_F(Election, ALeaderTakesBackALeaseThatACandidateMadeAfterItsDeletion) {
  a_.tick(now_);
  server_.remove();
  b_.tick(now_ + 1s);
  EXPECT_EQ(server_.holder(), kUnknownHolder);
  a_.tick(now_ + 2s);
  EXPECT_EQ(server_.holder(), "a");
  b_.tick(now_ + 16s);
  EXPECT_FALSE(b_.may_write(now_ + 16s)) << "the record has changed since b made it";
}

TEST_F(Election, ALeaderTakesBackALeaseThatIsInstalledAnew) {
  a_.tick(now_);
  b_.tick(now_);
  server_.remove();
  server_.install();
  EXPECT_FALSE(steps_down(a_.tick(now_ + 2s)));
  EXPECT_EQ(server_.holder(), "a");
  EXPECT_TRUE(a_.may_write(now_ + 11s));
  b_.tick(now_ + 2s);
  EXPECT_FALSE(b_.may_write(now_ + 2s));
}

TEST_F(Election, ALeaderThatFindsItsLeaseInstalledAnewTooLateStepsDown) {
  a_.tick(now_);
  server_.remove();
  server_.install();
  a_.feed(ElectionTick{}, now_ + 9s);
  const ElectionAction action = a_.feed(LeaseRead{server_.lease()}, now_ + 10s);
  ASSERT_TRUE(steps_down(action));
  EXPECT_EQ(std::get<StepDown>(action).why, "the lease could not be renewed in time");
}

TEST_F(Election, ALeaderWhoseLeaseWasDeletedAndThatIsPausedHasNoSuccessorInItsTime) {
  a_.tick(now_);
  server_.remove();
  for (const Clock::TimePoint end = now_ + 60s; now_ < end; now_ += 500ms) {
    b_.tick(now_);
    EXPECT_FALSE(a_.may_write(now_) && b_.may_write(now_));
  }
  EXPECT_TRUE(b_.may_write(now_));
  EXPECT_TRUE(steps_down(a_.tick(now_)));
}

// Changed again by whoever installs it, or not.
TEST_F(Election, ALeaseThatIsInstalledAnewHasNoSecondLeaderInTheTimeOfTheFirst) {
  for (const auto changed_for : {0s, 10s}) {
    a_ = Candidate("a", server_);
    b_ = Candidate("b", server_);
    server_.remove();
    a_.tick(now_);
    b_.tick(now_);
    server_.remove();
    server_.install();
    const Clock::TimePoint begin = now_;
    for (; now_ < begin + 60s; now_ += 500ms) {
      b_.tick(now_);
      if (now_ < begin + changed_for) server_.touch();
      EXPECT_FALSE(a_.may_write(now_) && b_.may_write(now_)) << changed_for.count();
    }
    EXPECT_TRUE(b_.may_write(now_));
  }
}

// Each of the three acts, or does not, in every half second.
TEST_F(Election, HoweverOftenALeaseIsDeletedThereAreNeverTwoLeaders) {
  CARAVAN_BY_TURNS();
  std::minstd_rand random(1);
  int led = 0;
  for (int i = 0; i < 200'000; ++i, now_ += 500ms) {
    if (random() % 8 == 0) server_.remove();
    for (Candidate* candidate : {&a_, &b_}) {
      const bool is_paused = random() % 16 == 0;
      if (is_paused || random() % 4 != 0) continue;
      if (steps_down(candidate->tick(now_, random() % 16 != 0)))
        *candidate = Candidate(candidate == &a_ ? "a" : "b", server_);
    }
    ASSERT_FALSE(a_.may_write(now_) && b_.may_write(now_)) << "after " << i << " half seconds";
    led += a_.may_write(now_) || b_.may_write(now_);
  }
  EXPECT_GT(led, 10'000);
}

}  // namespace
}  // namespace caravan::kube
