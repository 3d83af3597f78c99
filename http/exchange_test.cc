// Requests with bodies, answers that come later and in streams, and what bounds both.
#include "http/exchange.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "http/server.h"
#include "http/testing/client.h"

namespace caravan::http {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using testing::Client;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using ExchangePtr = std::shared_ptr<Exchange>;
// More than the buffers between two sockets take.
constexpr std::size_t kGiantText = std::size_t{32} << 20;

// What the handler was given, for the test to answer.
class Inbox {
 public:
  Handler handler() {
    return [this](const ExchangePtr& exchange) {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back(exchange);
      changed_.notify_all();
    };
  }
  ExchangePtr take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty(); });
    ExchangePtr first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ExchangePtr> waiting_;
};

// What a stream has to tell, as others add to it.
class Lines {
 public:
  explicit Lines(std::deque<std::string> lines = {}) : lines_(std::move(lines)) {}
  void add(std::string line) {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(std::move(line));
  }
  bool next(std::string& into) {
    const std::scoped_lock lock(mutex_);
    if (lines_.empty()) return false;
    into += lines_.front();
    lines_.pop_front();
    return true;
  }
  static Exchange::Next of(const std::shared_ptr<Lines>& lines) {
    return [lines](std::string& into) { return lines->next(into); };
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> lines_;
};

void await_stop(const ExchangePtr& exchange) {
  std::promise<void> stopped;
  const std::stop_callback callback(exchange->stop(), [&] { stopped.set_value(); });
  stopped.get_future().wait();
}

class ExchangeTest : public ::testing::Test {
 protected:
  Server& serve(const Limits& limits, const std::string& at = "127.0.0.1:0") {
    auto server = Server::start(at, inbox_.handler(), limits);
    EXPECT_TRUE(server) << server.error().message;
    return server_.emplace(std::move(*server));
  }
  Client connect() { return testing::connect(server_->address()); }
  // One that has begun to stream these.
  ExchangePtr begin_stream(Client& client, const std::shared_ptr<Lines>& lines) {
    client.send("GET /stream HTTP/1.1\r\n\r\n");
    ExchangePtr exchange = inbox_.take();
    exchange->stream({.content_type = "text/event-stream"}, Lines::of(lines), ": still here\n\n", nullptr);
    return exchange;
  }

  Inbox inbox_;
  std::optional<Server> server_;
};

std::string post(std::string_view body, std::string_view more = "") {
  return fmt::format("POST /a HTTP/1.1\r\nContent-Length: {}\r\n{}\r\n{}", body.size(), more, body);
}

TEST_F(ExchangeTest, ABodyComesInWhateverPieces) {
  serve({.body_bytes = 100'000});
  Client client = connect();
  const std::string body(100'000, 'b');
  const std::string request = post(body);
  client.send(request.substr(0, 10));
  client.send(request.substr(10, 5'000));
  client.send(request.substr(5'010));
  const ExchangePtr exchange = inbox_.take();
  EXPECT_EQ(exchange->request().body, body);
  EXPECT_EQ(exchange->request().host, "127.0.0.1");
  exchange->reply({.body = "taken"});
  EXPECT_THAT(client.receive("taken"), StartsWith("HTTP/1.1 200 OK"));
  client.send(post("more", "Connection: close\r\n"));
  const ExchangePtr second = inbox_.take();
  EXPECT_EQ(second->request().body, "more");
  second->reply({.body = "taken"});
  EXPECT_THAT(client.receive(), EndsWith("taken"));
}

TEST_F(ExchangeTest, ABodyThatIsTooLongIsRefusedBeforeItIsRead) {
  serve({.body_bytes = 100});
  Client client = connect();
  client.send("POST /a HTTP/1.1\r\nContent-Length: 101\r\n\r\n");
  EXPECT_THAT(client.receive(),
              AllOf(StartsWith("HTTP/1.1 413 "), EndsWith("expected a body of at most 100 bytes\n")));
}

TEST_F(ExchangeTest, WhoWaitsBeforeHeSendsABodyIsToldToGoOn) {
  serve({.body_bytes = 100});
  Client client = connect();
  client.send("POST /a HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  const ExchangePtr exchange = inbox_.take();
  EXPECT_EQ(exchange->request().body, "body");
  exchange->reply({.body = "taken"});
  EXPECT_THAT(client.receive("taken"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ExchangeTest, ABodyThatComesTooSlowlyIsGivenUp) {
  serve({.body_bytes = 100, .body_time = milliseconds(20)});
  Client slow = connect();
  slow.send("POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nb");
  EXPECT_EQ(slow.receive(), "");
}

TEST_F(ExchangeTest, WhoHoldsMostGoesFirstWhenMemoryIsShort) {
  serve({.body_bytes = 100'000, .memory_bytes = 100'000});
  Client greedy = connect();
  greedy.send("POST /a HTTP/1.1\r\nContent-Length: 90000\r\n\r\n" + std::string(60'000, 'b'));
  Client other = connect();
  other.send(post(std::string(50'000, 'b')));
  const ExchangePtr exchange = inbox_.take();
  EXPECT_EQ(exchange->request().body.size(), 50'000u);
  EXPECT_EQ(greedy.receive(), "");
  exchange->reply({.body = "taken"});
  EXPECT_THAT(other.receive("taken"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ExchangeTest, ManyShortFieldsWeighWhatTheyTake) {
  serve({.head_bytes = 16'000, .body_bytes = 100, .memory_bytes = 100'000});
  std::string head = "POST /a HTTP/1.1\r\nContent-Length: 4\r\n";
  for (int i = 0; i < 2000; ++i) head += "a:b\r\n";
  Client greedy = connect();
  greedy.send(head + "\r\n");
  EXPECT_EQ(greedy.receive(), "") << "before its body has come";
}

TEST_F(ExchangeTest, AnAddressOfIPv4IsShownAsSuch) {
  serve({}, "[::]:0");
  Client client = connect();
  client.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(inbox_.take()->request().host, "127.0.0.1");
}

TEST_F(ExchangeTest, AnAnswerMayComeLaterAndOthersAreServedMeanwhile) {
  serve({});
  Client first = connect();
  first.send("GET /first HTTP/1.1\r\n\r\n");
  const ExchangePtr late = inbox_.take();
  Client second = connect();
  second.send("GET /second HTTP/1.1\r\n\r\n");
  inbox_.take()->reply({.body = "second"});
  EXPECT_THAT(second.receive("second"), EndsWith("second"));
  std::jthread([late] { late->reply({.body = "first"}); }).join();
  EXPECT_THAT(first.receive("first"), EndsWith("first"));
}

TEST_F(ExchangeTest, AnAnswerIsGivenOnce) {
  serve({});
  Client client = connect();
  client.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  const ExchangePtr exchange = inbox_.take();
  exchange->reply({.body = "one"});
  exchange->reply({.body = "two"});
  exchange->end("three");
  EXPECT_THAT(client.receive(), EndsWith("\r\n\r\none"));
}

TEST_F(ExchangeTest, WhoHasGoneIsNotWorkedForAnyLonger) {
  serve({});
  ExchangePtr exchange;
  {
    Client client = connect();
    client.send("GET / HTTP/1.1\r\n\r\n");
    exchange = inbox_.take();
  }
  await_stop(exchange);
  exchange->reply({.body = "lost"});
  Client next = connect();
  next.send("GET / HTTP/1.1\r\n\r\n");
  inbox_.take()->reply({.body = "next"});
  EXPECT_THAT(next.receive("next"), EndsWith("next"));
}

TEST_F(ExchangeTest, NobodyWhoIsBeingAnsweredIsPushedOut) {
  serve({.connections = 1});
  Client client = connect();
  client.send("GET / HTTP/1.1\r\n\r\n");
  const ExchangePtr exchange = inbox_.take();
  Client newest = connect();
  EXPECT_EQ(newest.receive(), "");
  exchange->reply({.body = "here"});
  EXPECT_THAT(client.receive("here"), EndsWith("here"));
}

TEST_F(ExchangeTest, AStreamTellsWhatThereIsAndThenWhatIsNew) {
  serve({});
  Client client = connect();
  const auto lines = std::make_shared<Lines>(std::deque<std::string>{"one ", "two "});
  const ExchangePtr exchange = begin_stream(client, lines);
  EXPECT_THAT(client.receive("two "),
              AllOf(HasSubstr("Transfer-Encoding: chunked\r\n"), HasSubstr("\r\n\r\n8\r\none two \r\n")));
  lines->add("three ");
  exchange->wake();
  EXPECT_EQ(client.receive("\r\nthree \r\n"), "6\r\nthree \r\n");
  exchange->end("the end");
  EXPECT_EQ(client.receive(), "7\r\nthe end\r\n0\r\n\r\n");
  EXPECT_TRUE(exchange->stop().stop_requested());
}

TEST_F(ExchangeTest, AStreamThatHasEndedBeforeItBeginsTellsItsLastWords) {
  serve({});
  Client client = connect();
  client.send("GET /stream HTTP/1.1\r\n\r\n");
  const ExchangePtr exchange = inbox_.take();
  exchange->end("too late");
  exchange->stream({}, Lines::of(std::make_shared<Lines>()), "", nullptr);
  EXPECT_THAT(client.receive(), EndsWith("\r\n\r\n8\r\ntoo late\r\n0\r\n\r\n"));
}

TEST_F(ExchangeTest, WhatEndsOneExchangeDoesNotEndTheNextOfItsConnection) {
  serve({});
  Client client = connect();
  client.send("GET / HTTP/1.1\r\n\r\n");
  const ExchangePtr first = inbox_.take();
  first->end("early");
  first->reply({.body = "one"});
  first->end("late");
  EXPECT_THAT(client.receive("one"), EndsWith("\r\n\r\none"));
  const auto lines = std::make_shared<Lines>(std::deque<std::string>{"two"});
  const ExchangePtr second = begin_stream(client, lines);
  first->end("too late");
  EXPECT_THAT(client.receive("two"), HasSubstr("\r\n3\r\ntwo"));
  EXPECT_FALSE(second->stop().stop_requested());
}

TEST_F(ExchangeTest, AClientThatKnowsNoChunksHasTheStreamUntilTheConnectionEnds) {
  serve({});
  Client client = connect();
  client.send("GET /stream HTTP/1.0\r\n\r\n");
  const ExchangePtr exchange = inbox_.take();
  exchange->stream({}, Lines::of(std::make_shared<Lines>(std::deque<std::string>{"one"})), "", nullptr);
  exchange->end(" two");
  const std::string answer = client.receive();
  EXPECT_THAT(answer, EndsWith("two"));
  EXPECT_EQ(answer.find("chunked"), std::string::npos);
}

TEST_F(ExchangeTest, AQuietStreamHasHeartbeats) {
  serve({.heartbeat_time = milliseconds(1)});
  Client client = connect();
  begin_stream(client, std::make_shared<Lines>());
  EXPECT_THAT(client.receive(": still here\n\n\r\ne\r\n: still here\n\n"),
              HasSubstr("e\r\n: still here\n\n\r\n"));
}

TEST_F(ExchangeTest, AStreamEndsWhenItsTimeIsOver) {
  serve({.heartbeat_time = milliseconds(1), .stream_time = milliseconds(5)});
  Client client = connect();
  begin_stream(client, std::make_shared<Lines>());
  EXPECT_THAT(client.receive(), EndsWith("\r\n0\r\n\r\n"));
}

TEST_F(ExchangeTest, WhatIsKeptForAStreamGoesWithItsClient) {
  serve({});
  std::promise<void> gone;
  std::shared_ptr<void> ticket(nullptr, [&gone](void*) { gone.set_value(); });
  ExchangePtr exchange;
  {
    Client client = connect();
    client.send("GET /stream HTTP/1.1\r\n\r\n");
    exchange = inbox_.take();
    exchange->stream({.body = "begun"}, Lines::of(std::make_shared<Lines>()), "", std::move(ticket));
    EXPECT_THAT(client.receive("begun"), HasSubstr("5\r\nbegun"));
  }
  await_stop(exchange);
  gone.get_future().wait();  // the test's own time limit is the end of waiting
}

TEST_F(ExchangeTest, AStreamIsReadOnAsFarAsItsReaderReads) {
  serve({});
  Client slow = connect();
  std::atomic<std::size_t> asked_for = 0;
  slow.send("GET /stream HTTP/1.1\r\n\r\n");
  const ExchangePtr exchange = inbox_.take();
  const std::string line(1 << 20, 'x');
  exchange->stream(
      {},
      [&](std::string& into) {
        asked_for += line.size();
        into += line;
        return true;
      },
      "", nullptr);
  EXPECT_NE(slow.receive("xxx"), "");
  Client other = connect();
  other.send("GET / HTTP/1.1\r\n\r\n");
  inbox_.take()->reply({.body = "served"});
  EXPECT_THAT(other.receive("served"), EndsWith("served"));
  server_->stop(milliseconds(0));
  server_.reset();
  EXPECT_LT(asked_for, kGiantText) << "whoever reads nothing costs memory";
}

TEST_F(ExchangeTest, AStreamThatBeginsAfterItsReaderHasEndedIsOver) {
  serve({});
  Client client = connect();
  client.send("GET /stream HTTP/1.1\r\n\r\n");
  const ExchangePtr exchange = inbox_.take();
  client.end();
  await_stop(exchange);
  exchange->stream({.content_type = "text/event-stream"}, Lines::of(std::make_shared<Lines>()),
                   ": still here\n\n", nullptr);
  EXPECT_EQ(client.receive(), "") << "nobody will end it";
}

TEST_F(ExchangeTest, AReaderWhoTakesNothingIsDropped) {
  serve({.answer_time = milliseconds(20)});
  Client slow = connect();
  begin_stream(slow, std::make_shared<Lines>(std::deque<std::string>{std::string(kGiantText, 'x')}));
  EXPECT_LT(slow.receive().size(), kGiantText);
}

TEST_F(ExchangeTest, AServerThatStopsAnswersWhatItHasTakenAndNothingMore) {
  Server& server = serve({});
  Client idle = connect();
  idle.send("GET / HTTP/1.1\r\n\r\n");
  inbox_.take()->reply({.body = "idle"});
  EXPECT_THAT(idle.receive("idle"), EndsWith("idle"));
  Client streaming = connect();
  const auto stream = begin_stream(streaming, std::make_shared<Lines>());
  Client working = connect();
  working.send("GET / HTTP/1.1\r\n\r\n");
  const ExchangePtr exchange = inbox_.take();
  std::jthread stopping([&] { server.stop(std::chrono::minutes(1)); });
  EXPECT_EQ(idle.receive(), "");
  EXPECT_THAT(streaming.receive(), EndsWith("0\r\n\r\n"));
  exchange->reply({.body = "done"});
  EXPECT_THAT(working.receive(), AllOf(HasSubstr("Connection: close"), EndsWith("done")));
  idle = {};
  streaming = {};
  working = {};
}

TEST_F(ExchangeTest, WhatIsSaidAfterTheServerHasEndedIsLost) {
  serve({});
  Client client = connect();
  client.send("GET / HTTP/1.1\r\n\r\n");
  const ExchangePtr exchange = inbox_.take();
  server_.reset();
  EXPECT_TRUE(exchange->stop().stop_requested());
  exchange->reply({.body = "lost"});
  exchange->wake();
  EXPECT_EQ(client.receive(), "");
}

}  // namespace
}  // namespace caravan::http
