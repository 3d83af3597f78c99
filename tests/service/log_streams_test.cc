// StreamLogs against a scripted API server: what of a job's logs is read, where it goes on, and where it
// ends.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <map>

#include "common/testing/await.h"
#include "kube/config/config_credentials.h"
#include "service/methods/log_methods.h"
#include "service/testing/review_server.h"
#include "tests/kube/fault_server.h"

namespace caravan::service::testing {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;
using kube::testing::Exchange;
using kube::testing::FaultServer;
using kube::testing::reply_with;
using kube::testing::Script;
using kube::testing::status_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using v1alpha1::StreamLogsRequest;
using v1alpha1::StreamLogsResponse;

std::string line(int second, const std::string& text) {
  return fmt::format("2026-01-01T00:00:{:02}.000000000Z {}\n", second, text);
}

std::string of_rank(int rank, const std::string& text) {
  return fmt::format("2026-01-01T00:00:00.000 info agent-0: rank {}: {}", rank, text);
}

Script all_of(const std::string& log) {
  return reply_with(200, log);
}

// Then the connection breaks.
Script breaks_behind(const std::string& log) {
  return [log](Exchange& exchange) {
    exchange.begin_stream();
    exchange.chunk(log);
    exchange.drop();
  };
}

// The pods of a job's node, by attempt, and what reading each one's log gives.
class Machines {
 public:
  void set(int attempt, const std::string& phase, Script log) {
    const std::scoped_lock lock(mutex_);
    pods_[attempt] = {phase, std::move(log)};
  }
  // Of somebody who may make pods in the namespace, with the labels of a pod of the job.
  void forge(const std::string& name, int attempt, Script log) {
    const std::scoped_lock lock(mutex_);
    forged_[name] = {"Succeeded", std::move(log), attempt};
  }
  void remove(int attempt) {
    const std::scoped_lock lock(mutex_);
    pods_.erase(attempt);
  }

  void answer(Exchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path.ends_with("/pods")) return exchange.reply(200, list());
    Script log = reply_with(404, status_json(404, "NotFound"));
    {
      const std::scoped_lock lock(mutex_);
      for (const auto& [attempt, pod] : pods_) {
        if (path.ends_with(fmt::format("/tiny-0-a{}/log", attempt))) log = pod.log;
      }
      for (const auto& [name, pod] : forged_) {
        if (path.ends_with(fmt::format("/{}/log", name))) log = pod.log;
      }
    }
    log(exchange);
  }

 private:
  struct Pod {
    std::string phase;
    Script log;
    int attempt = 0;  // of forged ones
  };

  static JsonObject object(const std::string& name, int attempt, const Pod& pod) {
    return {{"metadata",
             JsonObject{{"name", name},
                        {"namespace", "s"},
                        {"uid", "uid of " + name},
                        {"labels", JsonObject{{"training.caravan.dev/node-index", "0"},
                                              {"training.caravan.dev/attempt", std::to_string(attempt)}}}}},
            {"status", JsonObject{{"phase", pod.phase}}}};
  }

  std::string list() const {
    const std::scoped_lock lock(mutex_);
    JsonArray items;
    for (const auto& [attempt, pod] : pods_)
      items.push_back(object(fmt::format("tiny-0-a{}", attempt), attempt, pod));
    for (const auto& [name, pod] : forged_) items.push_back(object(name, pod.attempt, pod));
    return boost::json::serialize(JsonObject{{"kind", "PodList"}, {"items", std::move(items)}});
  }

  mutable std::mutex mutex_;
  std::map<int, Pod> pods_;
  std::map<std::string, Pod> forged_;
};

// What a reader was told until the end.
struct Heard {
  std::vector<StreamLogsResponse> messages = {};
  std::optional<Fault> fault = {};

  std::string text() const {
    std::string all;
    for (const StreamLogsResponse& message : messages) all += message.data();
    return all;
  }
};

class LogStreams : public ::testing::Test {
 protected:
  LogStreams() {
    review_.server.allow("ada get s");
    set_job("");
  }

  // conditions: of its status, as JSON.
  void set_job(const std::string& conditions, const std::string& more = "") {
    const Json job =
        kube::parse_json(fmt::format(R"({{"metadata": {{"name": "tiny", "namespace": "s", "uid": "u"}},
        "spec": {{"resources": {{"devices": 4}}}}, "status": {{"conditions": [{}]{}}}}})",
                                     conditions, more),
                         "job")
            .value();
    jobs_.take({.before = nullptr, .after = std::make_shared<const kube::CachedObject>(job)});
  }
  void end_job() { set_job(R"({"type": "Complete", "status": "True", "reason": "StepsReached"})"); }

  // The caller's calls alone come here; his rights are known elsewhere.
  FaultServer& server() {
    if (!server_) {
      server_.emplace([this](Exchange& exchange) { machines_.answer(exchange); });
      kube::ClientConfig config{.server = {.host = "127.0.0.1", .port = std::to_string(server_->port())}};
      config.authority.text = server_->authority().certificate_pem;
      config_ = config;
      credentials_ = std::make_unique<kube::ConfigCredentials>(config_, clock_);
      clients_ = std::make_unique<CallerClients>(kube::peer_of(config_), *credentials_, clock_, observer_,
                                                 kube::ClientOptions{.retry = {.tries = 1}});
      methods_ = std::make_unique<LogMethods>(
          jobs_, rights_, *clients_, clock_, [] { return true; },
          LogFollower::Paces{.first_wait = std::chrono::milliseconds(1),
                             .longest_wait = std::chrono::milliseconds(5)},
          StreamThreads::Limits{});
    }
    return *server_;
  }

  StreamLogsRequest request(bool follow, const std::string& cursor = "") {
    StreamLogsRequest made;
    made.set_name("namespaces/s/jobs/tiny");
    made.set_follow(follow);
    made.set_cursor(cursor);
    return made;
  }

  Heard hear(
      const StreamLogsRequest& request, const Caller& caller = {.user = "ada", .token = "secret"},
      const std::function<void(const StreamLogsResponse&)>& on_message = [](const auto&) {}) {
    server();
    struct State {
      std::mutex mutex;
      std::condition_variable changed;
      bool has_news = false;
      bool is_over = false;
      std::optional<Fault> fault;
    };
    const auto state = std::make_shared<State>();
    const auto pipe = methods_->stream_logs(
        {.caller = caller}, request,
        [state] {
          const std::scoped_lock lock(state->mutex);
          state->has_news = true;
          state->changed.notify_all();
        },
        [state](const Fault* fault) {
          const std::scoped_lock lock(state->mutex);
          state->is_over = true;
          if (fault != nullptr) state->fault = *fault;
          state->changed.notify_all();
        });
    Heard heard;
    if (!pipe) {
      heard.fault = pipe.error();
      return heard;
    }
    while (true) {
      for (StreamLogsResponse message; (*pipe)->next(message); message.Clear()) {
        on_message(message);
        heard.messages.push_back(message);
      }
      std::unique_lock lock(state->mutex);
      state->changed.wait(lock, [&] { return state->has_news || state->is_over; });
      state->has_news = false;
      if (!state->is_over) continue;
      heard.fault = state->fault;
      return heard;
    }
  }
  Heard hear(bool follow, const std::string& cursor = "") { return hear(request(follow, cursor)); }

  std::vector<std::string> queries_of_logs() {
    std::vector<std::string> queries;
    for (const auto& received : server().requests()) {
      if (received.path.ends_with("/log")) queries.push_back(received.query);
    }
    return queries;
  }

  Machines machines_;
  ReviewedService review_;
  SystemClock clock_;
  kube::Observer observer_;
  Rights rights_{review_.client, review_.clock};
  JobFeed jobs_{[] { return JobFeed::Versions{.seen = "1", .reported = "1"}; }};
  std::optional<FaultServer> server_;
  kube::ClientConfig config_;
  std::unique_ptr<kube::ConfigCredentials> credentials_;
  std::unique_ptr<CallerClients> clients_;
  std::unique_ptr<LogMethods> methods_;
};

TEST_F(LogStreams, GiveWhatThereIsAsTheCaller) {
  machines_.set(1, "Running", all_of(line(1, "one") + line(2, "two")));
  const Heard heard = hear(false);
  EXPECT_EQ(heard.fault, std::nullopt);
  EXPECT_EQ(heard.text(), "one\ntwo\n");
  ASSERT_FALSE(heard.messages.empty());
  EXPECT_EQ(heard.messages[0].pod(), "tiny-0-a1");
  for (const auto& received : server().requests())
    EXPECT_EQ(kube::header(received.headers, "Authorization"), "Bearer secret") << received.path;
  EXPECT_THAT(server().requests().at(0).query, HasSubstr("training.caravan.dev%2Fjob-uid%3Du"));
  EXPECT_THAT(queries_of_logs(), ElementsAre("container=worker&timestamps=true"));
}

TEST_F(LogStreams, AreFollowedThroughBrokenStreamsAndAttemptsEachByteOnce) {
  const std::string second = line(1, "one") + line(2, "two") + line(3, "three");
  machines_.set(1, "Running",
                kube::testing::in_turn(
                    {breaks_behind(line(1, "one") + line(2, "two").substr(0, 33)),
                     reply_with(500, status_json(500, "InternalError", "no kubelet there")),
                     all_of("unable to retrieve container logs for c://1\n"), [&](Exchange& exchange) {
                       machines_.set(1, "Failed", all_of(second));
                       machines_.set(2, "Running", [&](Exchange& last) {
                         machines_.set(2, "Succeeded", all_of(line(4, "four") + line(5, "five")));
                         end_job();
                         all_of(line(4, "four"))(last);
                       });
                       exchange.reply(200, second);
                     }}));
  const Heard heard = hear(true);
  EXPECT_EQ(heard.fault, std::nullopt) << heard.fault->message;
  EXPECT_EQ(heard.text(), "one\ntwo\nthree\nfour\nfive\n");
  EXPECT_THAT(queries_of_logs().at(1), HasSubstr("sinceTime=2025-12-31T23%3A59%3A02Z"));
}

TEST_F(LogStreams, OfPodsThatOthersLabelledLikeTheJobsAreNotRead) {
  machines_.set(1, "Succeeded", all_of(line(1, "ours")));
  for (const char* name : {"tiny-0-a999-a", "tiny-0-a999-b"})
    machines_.forge(name, 999, all_of(line(2, "theirs")));
  end_job();
  const Heard heard = hear(true);
  EXPECT_EQ(heard.fault, std::nullopt);
  EXPECT_EQ(heard.text(), "ours\n");
}

TEST_F(LogStreams, GoOnRightBehindTheMessageWhoseCursorIsGivenBack) {
  const std::string log = line(1, "one") + line(1, "one") + line(2, std::string(1000, 'x')) + line(3, "end");
  const auto in_pieces = [log](Exchange& exchange) {
    exchange.begin_stream();
    for (std::size_t at = 0; at < log.size(); at += 50) exchange.chunk(log.substr(at, 50));
    exchange.end_stream();
  };
  machines_.set(1, "Failed", in_pieces);
  machines_.set(2, "Succeeded", in_pieces);
  end_job();
  const Heard begun = hear(false);
  std::string before;
  for (const StreamLogsResponse& message : begun.messages) {
    before += message.data();
    for (const bool follow : {false, true}) {
      const Heard rest = hear(follow, message.cursor());
      EXPECT_EQ(rest.fault, std::nullopt) << rest.fault->message;
      EXPECT_EQ(before + rest.text(), begun.text());
    }
  }
  EXPECT_EQ(begun.text(), "one\none\n" + std::string(1000, 'x') + "\nend\n");
}

TEST_F(LogStreams, OfAnEarlierPodGoOnInTheLaterOneEvenWhenTheEarlierIsGone) {
  machines_.set(1, "Failed", all_of(line(1, "one")));
  const Heard first = hear(false);
  machines_.set(2, "Running", all_of(line(2, "two")));
  const std::string amid = first.messages.front().cursor();
  EXPECT_EQ(hear(false, amid).text(), "two\n") << "behind what was left of the first, which is nothing";
  machines_.remove(1);
  EXPECT_EQ(hear(false, first.messages.back().cursor()).text(), "two\n") << "all of the first was read";
  const Heard lost = hear(true, amid);
  ASSERT_TRUE(lost.fault) << "nobody knows whether there was more";
  EXPECT_EQ(lost.fault->code, Code::kOutOfRange);
  EXPECT_EQ(lost.fault->reason, faults::kLogGone);
  EXPECT_EQ(lost.text(), "");
}

TEST_F(LogStreams, SayThatWhatComesNextWasRotatedAway) {
  machines_.set(1, "Running", all_of(line(1, "one")));
  const std::string cursor = hear(false).messages.back().cursor();
  machines_.set(1, "Running", all_of(line(2, "two") + "2026-01-01T00:59:00.000000000Z later\n"));
  for (const bool follow : {false, true}) {
    const Heard heard = hear(follow, cursor);
    ASSERT_TRUE(heard.fault);
    EXPECT_EQ(heard.fault->reason, faults::kLogGone);
    EXPECT_EQ(heard.text(), "");
  }
  machines_.set(1, "Running", all_of(""));
  EXPECT_TRUE(hear(false, cursor).fault);
}

TEST_F(LogStreams, OfWhoeverMayNotReadThemEndAtOnceAlsoWhenFollowed) {
  machines_.set(1, "Running", reply_with(403, status_json(403, "Forbidden", "pods/log is forbidden")));
  for (const bool follow : {false, true}) {
    const Heard heard = hear(follow);
    ASSERT_TRUE(heard.fault);
    EXPECT_EQ(heard.fault->code, Code::kPermissionDenied);
    EXPECT_THAT(heard.fault->message, HasSubstr("pods/log is forbidden"));
  }
  machines_.set(1, "Running", reply_with(401, status_json(401, "Unauthorized")));
  EXPECT_EQ(hear(true).fault->reason, faults::kTokenNotForServer);
  EXPECT_EQ(hear(request(true), {.user = "ada"}).fault->reason, faults::kCertificateOnly);
  EXPECT_EQ(hear(request(true), {.user = "eve", .token = "hers"}).fault->code, Code::kPermissionDenied);
}

TEST_F(LogStreams, WaitForAPodOnlyWhileTheJobGoesOn) {
  EXPECT_EQ(hear(false).fault->code, Code::kNotFound);
  end_job();
  EXPECT_EQ(hear(true).fault->code, Code::kNotFound);
  set_job("");
  machines_.set(1, "Pending", [this](Exchange& exchange) {
    machines_.set(1, "Succeeded", all_of(line(1, "one")));
    end_job();
    exchange.reply(400, status_json(400, "BadRequest", "container is waiting to start"));
  });
  const Heard heard = hear(true);
  EXPECT_EQ(heard.fault, std::nullopt) << heard.fault->message;
  EXPECT_EQ(heard.text(), "one\n");
}

TEST_F(LogStreams, GoOnBehindAPodThatWentBeforeItRan) {
  machines_.set(1, "Pending", [this](Exchange& exchange) {
    machines_.remove(1);
    machines_.set(2, "Succeeded", all_of(line(1, "one")));
    end_job();
    exchange.reply(400, status_json(400, "BadRequest", "container is waiting to start"));
  });
  const Heard heard = hear(true);
  EXPECT_EQ(heard.fault, std::nullopt) << heard.fault->message;
  EXPECT_EQ(heard.text(), "one\n");
}

TEST_F(LogStreams, SayWhenAPodThatPrintedGoesBeforeItIsReadToItsEnd) {
  machines_.set(1, "Running", [this](Exchange& exchange) {
    machines_.remove(1);
    machines_.set(2, "Running", all_of(line(2, "two")));
    breaks_behind(line(1, "one"))(exchange);
  });
  const Heard heard = hear(true);
  EXPECT_EQ(heard.text(), "one\n");
  ASSERT_TRUE(heard.fault);
  EXPECT_EQ(heard.fault->reason, faults::kLogGone);
}

TEST_F(LogStreams, SayThatAPodsLogCannotBeReadToItsEndWhenAnotherHasComeAfterIt) {
  machines_.set(1, "Running", [this](Exchange& exchange) {
    machines_.set(1, "Failed", reply_with(500, status_json(500, "InternalError", "no kubelet there")));
    machines_.set(2, "Running", all_of(line(2, "two")));
    breaks_behind(line(1, "one"))(exchange);
  });
  const Heard heard = hear(true);
  EXPECT_EQ(heard.text(), "one\n");
  ASSERT_TRUE(heard.fault);
  EXPECT_EQ(heard.fault->reason, faults::kLogGone);
  EXPECT_THAT(heard.fault->message, HasSubstr("tiny-0-a2 has come after it"));
}

TEST_F(LogStreams, OfAMachineThatCannotAnswerAreNotWaitedForWhenTheJobHasEnded) {
  machines_.set(1, "Succeeded", reply_with(500, status_json(500, "InternalError", "no kubelet there")));
  end_job();
  for (const bool follow : {false, true}) {
    const Heard heard = hear(follow);
    ASSERT_TRUE(heard.fault);
    EXPECT_EQ(heard.fault->code, Code::kUnavailable);
    EXPECT_THAT(heard.fault->message, HasSubstr("no kubelet there"));
  }
  machines_.set(1, "Succeeded", all_of("unable to retrieve container logs for c://1\n"));
  EXPECT_THAT(hear(false).fault->message, HasSubstr("unable to retrieve container logs for c://1"));
}

TEST_F(LogStreams, EndWhenTheJobIsDeleted) {
  machines_.set(1, "Running", [this](Exchange& exchange) {
    const auto gone = jobs_.get({"s", "tiny"})->object;
    jobs_.take({.before = gone, .after = nullptr});
    exchange.reply(200, line(1, "one"));
  });
  const Heard heard = hear(true);
  EXPECT_EQ(heard.text(), "one\n");
  ASSERT_TRUE(heard.fault);
  EXPECT_EQ(heard.fault->code, Code::kNotFound);
  EXPECT_EQ(heard.fault->message, "the job was deleted");
}

TEST_F(LogStreams, OfARankAreItsOwnLinesOnTheNodeThatHasIt) {
  StreamLogsRequest of_a_rank = request(false);
  of_a_rank.set_rank(1);
  EXPECT_EQ(hear(of_a_rank).fault->reason, faults::kNotPlanned);
  set_job("", R"(, "plan": {"document": "{\"plan\": {\"devicesPerNode\": 2}}"})");
  machines_.set(1, "Running",
                all_of(line(1, of_rank(0, "zero")) + line(2, of_rank(1, "one")) + line(3, "other")));
  const Heard heard = hear(of_a_rank);
  EXPECT_EQ(heard.text(), "one\n");
  EXPECT_EQ(heard.messages.at(0).rank(), 1);
  of_a_rank.set_rank(3);
  hear(of_a_rank);
  EXPECT_THAT(server().requests().back().query, Not(IsEmpty()));
  bool asked_for_node_1 = false;
  for (const auto& received : server().requests())
    asked_for_node_1 |= received.query.find("node-index%3D1") != std::string::npos;
  EXPECT_TRUE(asked_for_node_1);
}

TEST_F(LogStreams, BeginWithTheLastLinesOrMinutesOfTheFirstPodOnly) {
  machines_.set(1, "Running", [this](Exchange& exchange) {
    machines_.set(1, "Failed", all_of(line(1, "one")));
    machines_.set(2, "Succeeded", all_of(line(2, "two")));
    end_job();
    exchange.reply(200, line(1, "one"));
  });
  StreamLogsRequest last = request(true);
  last.set_tail_lines(5);
  last.set_since_seconds(60);
  EXPECT_EQ(hear(last).text(), "one\ntwo\n");
  const auto queries = queries_of_logs();
  EXPECT_THAT(queries.at(0), HasSubstr("tailLines=5"));
  EXPECT_THAT(queries.at(0), HasSubstr("sinceTime=20"));
  EXPECT_EQ(queries.back(), "container=worker&timestamps=true");
}

TEST_F(LogStreams, OfARankBeginWithTheLastOfItsOwnLines) {
  set_job("", R"(, "plan": {"document": "{\"plan\": {\"devicesPerNode\": 2}}"})");
  std::string log;
  for (int i = 1; i < 5; ++i) log += line(i, of_rank(1, std::to_string(i))) + line(i, of_rank(0, "other"));
  machines_.set(1, "Running", [this, log](Exchange& exchange) {
    machines_.set(1, "Succeeded", all_of(log + line(9, of_rank(1, "end"))));
    end_job();
    exchange.reply(200, log);
  });
  StreamLogsRequest last = request(true);
  last.set_rank(1);
  last.set_tail_lines(2);
  EXPECT_EQ(hear(last).text(), "3\n4\nend\n");
  for (const std::string& query : queries_of_logs()) EXPECT_THAT(query, Not(HasSubstr("tailLines")));
}

TEST_F(LogStreams, TakeNoNumbersThatMeanNothing) {
  const auto field_of = [&](const std::function<void(StreamLogsRequest&)>& change) {
    StreamLogsRequest bad = request(false);
    change(bad);
    const Heard heard = hear(bad);
    if (!heard.fault || heard.fault->fields.empty()) return std::string("taken");
    return heard.fault->fields[0].subject;
  };
  EXPECT_EQ(field_of([](auto& bad) { bad.set_name("tiny"); }), "name");
  EXPECT_EQ(field_of([](auto& bad) { bad.set_node(-1); }), "node");
  EXPECT_EQ(field_of([](auto& bad) { bad.set_rank(4); }), "rank");
  EXPECT_EQ(field_of([](auto& bad) { bad.set_rank(-1); }), "rank");
  EXPECT_EQ(field_of([](auto& bad) { bad.set_since_seconds(-1); }), "since_seconds");
  EXPECT_EQ(field_of([](auto& bad) { bad.set_tail_lines(-1); }), "tail_lines");
  EXPECT_EQ(field_of([](auto& bad) { bad.set_cursor("garbage"); }), "cursor");
  EXPECT_EQ(field_of([](auto& bad) {
              bad.set_rank(1);
              bad.set_tail_lines(10'001);
            }),
            "tail_lines");
  EXPECT_EQ(field_of([](auto& bad) {
              bad.set_rank(1);
              bad.set_node(1);
            }),
            "node");
}

TEST_F(LogStreams, StopReadingWhenTheCallerGoesAndMakeRoomForOthers) {
  machines_.set(1, "Running", [](Exchange& exchange) {
    exchange.begin_stream();
    exchange.chunk(line(1, "one"));
    exchange.hang();
  });
  server();
  std::stop_source caller;
  const Call call{.context = {.stop = caller.get_token()}, .caller = {.user = "ada", .token = "secret"}};
  const auto begin = [this](const Call& of) {
    return methods_->stream_logs(
        of, request(true), [] {}, [](const Fault*) {});
  };
  for (std::size_t i = 0; i < StreamThreads::Limits{}.of_caller; ++i) ASSERT_TRUE(begin(call));
  const auto refused = begin(call);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  caller.request_stop();
  const Call other{.caller = {.user = "ada", .token = "secret"}};
  test::await([&] { return begin(other).has_value(); });
}

}  // namespace
}  // namespace caravan::service::testing
