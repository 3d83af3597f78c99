// Events and reconciling against a server that misbehaves.

#include <latch>

#include "kube/events/event_recorder.h"
#include "kube/queue/reconcile_loop.h"
#include "kube/watch/own_writes.h"
#include "kube/watch/store.h"
#include "tests/kube/objects.h"
#include "tests/kube/scripted_client.h"

namespace caravan::kube::testing {
namespace {

using namespace std::chrono_literals;

class EventFaults : public ScriptedClientTest {
 protected:
  static EventNote note() {
    return {.regarding = pod("a", "1", "1"), .reason = "R", .action = "A", .note = "n"};
  }
};

TEST_F(EventFaults, ASeriesWhoseEventIsGoneIsCreatedAnew) {
  serve([](Exchange& exchange) {
    if (exchange.request().method == "PATCH") return exchange.reply(404, status_json(404, "NotFound"));
    exchange.reply(201, "{}");
  });
  EventRecorder events(*client_, clock_, recorder_, {.controller = "c", .instance = "i"});
  events.record(note());
  events.record(note());
  ASSERT_TRUE(events.flush({}));
  EXPECT_EQ(requests("POST"), 2);
  EXPECT_TRUE(recorder_.warnings().empty());
}

TEST_F(EventFaults, AnEventThatIsRefusedIsDroppedWithAWarning) {
  serve(reply_with(403, status_json(403, "Forbidden")));
  EventRecorder events(*client_, clock_, recorder_, {.controller = "c", .instance = "i"});
  events.record(note());
  ASSERT_TRUE(events.flush({}));
  EXPECT_EQ(recorder_.warnings().size(), 1U);
}

TEST_F(EventFaults, AHangingServerDoesNotHoldUpWhoReports) {
  serve([](Exchange& exchange) { exchange.hang(); });
  EventRecorder events(*client_, clock_, recorder_, {.controller = "c", .instance = "i"});
  for (std::size_t i = 0; i < 2 * EventRecorder::kLongestQueue; ++i) events.record(note());
  EXPECT_FALSE(recorder_.warnings().empty()) << "what does not fit is dropped, and said so";
}

TEST_F(EventFaults, ANamespaceThatReportsTooMuchCostsOthersNothing) {
  std::latch goes_on(1);
  serve([&](Exchange& exchange) {
    goes_on.wait();
    exchange.reply(201, "{}");
  });
  EventRecorder events(*client_, clock_, recorder_, {.controller = "c", .instance = "i"});
  EventNote of_another = note();
  of_another.regarding = pod("a", "another", "1");
  of_another.regarding.at("metadata").as_object()["namespace"] = "another";
  for (std::size_t i = 0; i < EventRecorder::kLongestQueue; ++i) events.record(note());
  events.record(of_another);
  goes_on.count_down();
  ASSERT_TRUE(events.flush({}));
  const std::vector<Received> received = server_->requests();
  EXPECT_EQ(received.back().path, "/apis/events.k8s.io/v1/namespaces/another/events");
  EXPECT_LE(received.size(), EventRecorder::kMostOfANamespace + 2) << "one was being written";
}

TEST_F(EventFaults, AServerThatIsAwayDoesNotMakeTheWriterHang) {
  serve([](Exchange& exchange) { exchange.drop(); });
  connect({}, {.retry = {.tries = 1}});
  EventRecorder events(*client_, clock_, recorder_, {.controller = "c", .instance = "i"});
  events.record(note());
  ASSERT_TRUE(events.flush({}));
  clock_.advance(10min);
  EXPECT_EQ(events.longest_run(), 0s);
}

TEST_F(EventFaults, AWriterThatHangsIsNoticed) {
  struct HangingObserver final : Observer {
    void on_warning(const std::string&) override {
      hangs.count_down();
      goes_on.wait();
    }
    std::latch hangs{1};
    std::latch goes_on{1};
  };
  serve(reply_with(403, status_json(403, "Forbidden")));
  HangingObserver observer;
  EventRecorder events(*client_, clock_, observer, {.controller = "c", .instance = "i"});
  events.record(note());
  observer.hangs.wait();
  clock_.advance(10min);
  EXPECT_EQ(events.longest_run(), 10min);
  observer.goes_on.count_down();
}

// One pod for each job: creates it when the cache has none, after the cache has seen our own writes.
class ReconcileFaults : public ScriptedClientTest {
 protected:
  tl::expected<Action, ReconcileError> reconcile(const CallContext& context) {
    const bool caught_up =
        writes_.seen("job",
                     {.resource_version = [&](const auto&) { return store_.resource_version(); },
                      .holds = [](const auto&) { return false; }},
                     clock_.now());
    if (!caught_up) return Action::requeue(1s);
    if (!store_.owned_by("s", "job").empty()) return Action::done();
    const auto created = client_->create(context, pods_, pod("p-0", "", ""));
    if (created) {
      writes_.wrote("job", "pods", version_of(*created), clock_.now());
      return Action::done();
    }
    return tl::unexpected(ReconcileError{.message = created.error().message});
  }

  Store store_;
  OwnWrites writes_;
};

TEST_F(ReconcileFaults, AStaleCacheAfterACreateLeadsToOnePodOnly) {
  serve(reply_with(201, boost::json::serialize(pod("p-0", "1", "12"))));
  store_.replace({}, "9");
  ASSERT_TRUE(reconcile({}));
  const auto again = reconcile({});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->requeue_after, 1000ms);
  EXPECT_EQ(requests("POST"), 1);
  store_.upsert(pod("p-0", "1", "12"));
  EXPECT_FALSE(reconcile({})->requeue_after);
  EXPECT_EQ(requests("POST"), 1);
}

TEST_F(ReconcileFaults, ANameTakenByAForeignObjectIsNotAdopted) {
  serve([](Exchange& exchange) {
    if (exchange.request().method == "POST") return exchange.reply(409, status_json(409, "AlreadyExists"));
    exchange.reply(200, boost::json::serialize(pod("p-0", "1", "1", "somebody-else")));
  });
  const auto created = client_->create({}, pods_, pod("p-0", "", ""));
  ASSERT_TRUE(created.error().is_already_exists());
  EXPECT_EQ(requests("POST"), 1);
  EXPECT_EQ(ownership_of(client_->get({}, pods_, "p-0").value(), "job"), Ownership::kForeign);
}

TEST_F(ReconcileFaults, AStopDuringAReconcileEndsItsCallsAndWaitsForIt) {
  serve([](Exchange& exchange) { exchange.hang(); });
  WorkQueue queue(clock_);
  std::atomic<bool> returned = false;
  ReconcileLoop loop(
      queue, clock_, [] { return 0.0; }, recorder_, {},
      [&](const CallContext& context, const ObjectKey&) {
        auto outcome = reconcile(context);
        returned = true;
        return outcome;
      },
      [] { return std::vector<ObjectKey>{}; });
  loop.start();
  queue.add({"s", "job"});
  await([&] { return requests("POST") == 1; });
  loop.stop();
  EXPECT_TRUE(returned);
}

}  // namespace
}  // namespace caravan::kube::testing
