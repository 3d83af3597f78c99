#include "kube/queue/reconcile_loop.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <latch>
#include <set>
#include <stdexcept>

#include "common/testing/manual_clock.h"

namespace caravan::kube {
namespace {

using namespace std::chrono_literals;
using Outcome = tl::expected<Action, ReconcileError>;

class CountingObserver final : public Observer {
 public:
  void on_reconciled(ReconcileEnd end, std::chrono::nanoseconds, std::chrono::nanoseconds) override {
    ++ends[static_cast<std::size_t>(end)];
  }
  int count(ReconcileEnd end) const { return ends[static_cast<std::size_t>(end)]; }

 private:
  std::array<std::atomic<int>, 5> ends{};
};

struct CountsDown {
  std::latch* latch;
  ~CountsDown() {
    if (latch != nullptr) latch->count_down();
  }
};

class ReconcileLoopTest : public ::testing::Test {
 protected:
  // Runs `reconcile` with its number, from 1, and ends the test's wait after `runs` of them.
  void start(int runs, const std::function<Outcome(int)>& reconcile, std::vector<ObjectKey> all_keys = {}) {
    done_.emplace(runs);
    loop_.emplace(
        queue_, clock_, [] { return 0.0; }, observer_, ReconcileOptions{.workers = 2},
        [this, runs, reconcile](const CallContext&, const ObjectKey& key) -> Outcome {
          const int run = ++runs_;
          {
            const std::lock_guard guard(mutex_);
            keys_.push_back(key.name);
          }
          const CountsDown counts_down{run <= runs ? &*done_ : nullptr};
          return reconcile(run);
        },
        [all_keys = std::move(all_keys)] { return all_keys; });
    loop_->start();
  }

  std::string name_of(int run) {
    const std::lock_guard guard(mutex_);
    return keys_.at(static_cast<std::size_t>(run - 1));
  }

  testing::ManualClock clock_;
  CountingObserver observer_;
  WorkQueue queue_{clock_};
  std::atomic<int> runs_{0};
  std::mutex mutex_;
  std::vector<std::string> keys_;
  std::optional<std::latch> done_;
  std::optional<ReconcileLoop> loop_;
};

TEST_F(ReconcileLoopTest, AnErrorComesAgainAfterTheKeysBackoff) {
  start(2, [](int run) -> Outcome {
    if (run == 1) return tl::unexpected(ReconcileError{.message = "the server is away"});
    return Action::done();
  });
  queue_.add({"s", "a"});
  clock_.await_sleeper(5ms);
  clock_.advance(5ms);
  done_->wait();
  loop_->stop();
  EXPECT_EQ(observer_.count(ReconcileEnd::kError), 1);
  EXPECT_EQ(observer_.count(ReconcileEnd::kDone), 1);
  EXPECT_EQ(runs_, 2);
}

TEST_F(ReconcileLoopTest, ATerminalErrorIsCountedAndNotTriedAgain) {
  start(1, [](int) -> Outcome {
    return tl::unexpected(ReconcileError{.message = "bad spec", .terminal = true});
  });
  queue_.add({"s", "a"});
  done_->wait();
  loop_->stop();
  EXPECT_EQ(observer_.count(ReconcileEnd::kTerminalError), 1);
  EXPECT_EQ(queue_.depth(), 0U);
  EXPECT_EQ(runs_, 1);
}

TEST_F(ReconcileLoopTest, AnExceptionIsAnErrorAndTheWorkersLive) {
  start(2, [](int run) -> Outcome {
    if (run == 1) throw std::runtime_error("out of range");
    return Action::done();
  });
  queue_.add({"s", "a"});
  clock_.await_sleeper(5ms);
  clock_.advance(5ms);
  done_->wait();
  loop_->stop();
  EXPECT_EQ(observer_.count(ReconcileEnd::kException), 1);
}

TEST_F(ReconcileLoopTest, ARequeueTimeIsKept) {
  start(2, [](int run) -> Outcome { return run == 1 ? Action::requeue(30s) : Action::done(); });
  queue_.add({"s", "a"});
  clock_.await_sleeper(30s);
  EXPECT_EQ(runs_, 1);
  clock_.advance(30s);
  done_->wait();
}

TEST_F(ReconcileLoopTest, EveryKeyComesAtTheStartAndAgainAtTheResync) {
  start(4, [](int) -> Outcome { return Action::done(); }, {{"s", "a"}, {"s", "b"}});
  while (runs_ < 2) std::this_thread::yield();
  clock_.await_sleeper(10h);
  clock_.advance(10h);
  done_->wait();
  loop_->stop();
  EXPECT_EQ(std::multiset<std::string>(keys_.begin(), keys_.end()),
            (std::multiset<std::string>{"a", "a", "b", "b"}));
}

TEST_F(ReconcileLoopTest, StopWaitsForTheReconcileThatRuns) {
  std::atomic<bool> finished = false;
  std::latch running(1);
  std::latch stopping(1);
  start(1, [&](int) -> Outcome {
    running.count_down();
    stopping.wait();
    finished = true;
    return Action::done();
  });
  queue_.add({"s", "a"});
  running.wait();
  auto finished_before_stop = std::async(std::launch::async, [&] {
    stopping.count_down();
    loop_->stop();
    return finished.load();
  });
  EXPECT_TRUE(finished_before_stop.get());
}

TEST_F(ReconcileLoopTest, NoKeyRunsTwiceAtOnce) {
  std::latch b_ran(1);
  std::atomic<bool> a_runs = false;
  start(3, [&](int run) -> Outcome {
    const bool is_b = name_of(run) == "b";
    if (is_b) b_ran.count_down();
    if (is_b) return Action::done();
    EXPECT_FALSE(a_runs.exchange(true)) << "run " << run << " began while the one before ran";
    if (run == 1) {
      queue_.add({"s", "a"});
      queue_.add({"s", "b"});
      b_ran.wait();  // the idle worker came to it past the key that runs
    }
    a_runs = false;
    return Action::done();
  });
  queue_.add({"s", "a"});
  done_->wait();
  loop_->stop();
  EXPECT_EQ(keys_, (std::vector<std::string>{"a", "b", "a"})) << "what was added meanwhile comes after it";
}

}  // namespace
}  // namespace caravan::kube
