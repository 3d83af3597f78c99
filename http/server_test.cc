// The server against clients that are many, slow, greedy or gone. Whatever must not hold up a request is
// there while the request is answered.
#include "http/server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <array>
#include <future>
#include <thread>
#include <vector>

#include "common/unique_fd.h"
#include "http/testing/client.h"
#include "http/texts.h"

namespace caravan::http {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using testing::Client;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kHello[] = "GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n";
constexpr char kKeepHello[] = "GET /hello HTTP/1.1\r\n\r\n";
// More than the buffers between two sockets take.
constexpr std::size_t kGiant = std::size_t{32} << 20;

std::optional<Reply> hello(std::string_view path) {
  if (path == "/hello") return Reply{"text/plain", "world"};
  if (path == "/giant") return Reply{"text/plain", std::string(kGiant, 'x')};
  return std::nullopt;
}

Server serve(const Limits& limits = {}, Texts texts = hello) {
  auto server = Server::start("127.0.0.1:0", serve_texts(std::move(texts)), limits);
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

Client connect(const Server& server) {
  return testing::connect(server.address());
}

std::string ask(const Server& server, std::string_view request = kHello) {
  return testing::ask(server.address(), request);
}

const auto kIsHello = AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nworld"));

TEST(HttpServer, AnswersOneClientAfterTheOther) {
  const Server server = serve();
  for (int i = 0; i < 3; ++i) EXPECT_THAT(ask(server), kIsHello);
  EXPECT_THAT(ask(server, "GET / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
}

TEST(HttpServer, AnswersWhileTwoHundredOthersSayNothing) {
  const Server server = serve();
  std::vector<Client> idle(200);
  for (Client& each : idle) each.connect(server.address());
  EXPECT_THAT(ask(server), kIsHello);
}

TEST(HttpServer, AnswersWhileAnotherOneSendsHalfAHead) {
  const Server server = serve();
  Client slow = connect(server);
  slow.send("GET /hello HT");
  EXPECT_THAT(ask(server), kIsHello);
  slow.send("TP/1.0\r\n\r\n");
  EXPECT_THAT(slow.receive(), kIsHello);
}

TEST(HttpServer, AnswersWhileAnotherOneDoesNotReadItsAnswer) {
  const Server server = serve();
  Client greedy = connect(server);
  greedy.send("GET /giant HTTP/1.1\r\n\r\n");
  EXPECT_THAT(ask(server), kIsHello);
}

TEST(HttpServer, AnswersWhileTheHandlerOfAnotherOneWorks) {
  std::promise<void> begun;
  std::promise<void> over;
  const Server busy = serve({}, [&, done = over.get_future().share()](std::string_view path) {
    begun.set_value();
    done.wait();
    return hello(path);
  });
  const Server probes = serve();
  Client client = connect(busy);
  client.send(kHello);
  begun.get_future().wait();
  EXPECT_THAT(ask(probes), kIsHello);
  over.set_value();
  EXPECT_THAT(client.receive(), kIsHello);
}

TEST(HttpServer, PushesOutTheOldestThatWaitsWhenThereAreTooMany) {
  const Server server = serve({.connections = 3});
  Client greedy = connect(server);
  greedy.send("GET /giant HTTP/1.1\r\n\r\n");
  EXPECT_EQ(greedy.receive("HTTP/1.1").substr(0, 8), "HTTP/1.1");
  Client oldest = connect(server);
  oldest.send(kKeepHello);
  EXPECT_THAT(oldest.receive("world"), kIsHello);
  Client next = connect(server);
  next.send(kKeepHello);
  EXPECT_THAT(next.receive("world"), kIsHello);

  Client newest = connect(server);
  newest.send(kKeepHello);
  EXPECT_THAT(newest.receive("world"), kIsHello);
  EXPECT_EQ(oldest.receive(), "");
  next.send(kHello);
  EXPECT_THAT(next.receive(), kIsHello);
}

TEST(HttpServer, PushesOutTheOldestWhenNoneWaits) {
  const Server server = serve({.connections = 1});
  Client greedy = connect(server);
  greedy.send("GET /giant HTTP/1.1\r\n\r\n");
  EXPECT_NE(greedy.receive("HTTP/1.1"), "");
  EXPECT_THAT(ask(server), kIsHello);
}

TEST(HttpServer, GivesUpAHeadThatTakesTooLong) {
  const Server server = serve({.head_time = milliseconds(20)});
  Client slow = connect(server);
  slow.send("GET /hello");
  EXPECT_EQ(slow.receive(), "");
}

TEST(HttpServer, GivesUpAConnectionThatStaysIdle) {
  const Server server = serve({.idle_time = milliseconds(20)});
  Client idle = connect(server);
  idle.send(kKeepHello);
  EXPECT_THAT(idle.receive(), kIsHello);
}

TEST(HttpServer, GivesUpAnAnswerThatIsReadTooSlowly) {
  const Server server = serve({.answer_time = milliseconds(1)});
  EXPECT_LT(ask(server, "GET /giant HTTP/1.1\r\n\r\n").size(), kGiant);
}

TEST(HttpServer, RefusesAHeadThatIsTooLongAndSaysSo) {
  const Server server = serve();
  EXPECT_THAT(ask(server, "GET /hello HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
}

TEST(HttpServer, RefusesABodyThatNobodyReads) {
  const Server server = serve();
  EXPECT_THAT(ask(server, "GET /hello HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"), StartsWith("HTTP/1.1 413 "));
}

TEST(HttpServer, RefusesWhatIsNeitherGetNorHead) {
  const Server server = serve();
  EXPECT_THAT(ask(server, "POST /hello HTTP/1.1\r\nConnection: close\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("\r\nAllow: GET, HEAD\r\n")));
}

TEST(HttpServer, AnswersWhoeverHasEndedWhatHeSends) {
  const Server server = serve();
  Client client = connect(server);
  client.send(kKeepHello);
  client.end();
  EXPECT_THAT(client.receive(), kIsHello);
}

TEST(HttpServer, HeadHasTheLengthButNoBody) {
  const Server server = serve();
  EXPECT_THAT(ask(server, "HEAD /hello?a=b HTTP/1.0\r\n\r\n"),
              AllOf(HasSubstr("\r\nContent-Length: 5\r\n"), EndsWith("\r\n\r\n")));
}

TEST(HttpServer, AnswersRequestsThatComeTogetherInTheirOrder) {
  const Server server = serve();
  const std::string answers = ask(
      server, std::string(kKeepHello) + "HEAD /hello HTTP/1.1\r\n\r\n" + "GET / HTTP/1.1\r\n\r\n" + kHello);
  const auto second = answers.find("HTTP/1.1 200", 1);
  const auto third = answers.find("HTTP/1.1 404");
  EXPECT_EQ(answers.substr(second - 5, 5), "world");
  EXPECT_THAT(answers.substr(second, third - second), EndsWith("\r\n\r\n"));
  EXPECT_THAT(answers.substr(third), AllOf(HasSubstr("404 Not Found\nHTTP/1.1 200 OK"), EndsWith("world")));
}

TEST(HttpServer, AnswersRequestsThatComeOneAfterTheOtherOnOneConnection) {
  const Server server = serve();
  Client client = connect(server);
  for (int i = 0; i < 3; ++i) {
    client.send(kKeepHello);
    EXPECT_THAT(client.receive("world"), kIsHello);
  }
}

TEST(HttpServer, AnswersAnyNumberOfRequestsThatComeTogetherInLittleMemory) {
  constexpr int kRequests = 5'000;
  const Server server = serve({.memory_bytes = 65'536});
  std::string requests;
  for (int i = 1; i < kRequests; ++i) requests += kKeepHello;
  Client client = connect(server);
  const std::jthread sender([&] { client.send(requests + kHello); });
  const std::string answers = client.receive();
  int count = 0;
  for (std::size_t at = answers.find("world"); at != std::string::npos; at = answers.find("world", at + 1))
    ++count;
  EXPECT_EQ(count, kRequests);
}

TEST(HttpServer, EndsWhileClientsAreConnected) {
  std::optional<Server> server = serve();
  Client idle = connect(*server);
  Client slow = connect(*server);
  slow.send("GET /hello");
  Client greedy = connect(*server);
  greedy.send("GET /giant HTTP/1.1\r\n\r\n");
  EXPECT_NE(greedy.receive("HTTP/1.1"), "");
  server.reset();
  EXPECT_EQ(slow.receive(), "");
}

TEST(HttpServer, APortInUseIsBadInput) {
  const Server server = serve();
  const auto second = Server::start(server.address(), serve_texts(hello));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ExitCode::kBadInput);
  EXPECT_EQ(second.error().message, "cannot listen on " + server.address() + ": Address already in use");
}

// Every descriptor that this process may have.
std::vector<UniqueFd> take_all_descriptors() {
  std::vector<UniqueFd> all;
  while (true) {
    UniqueFd one(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!one) return all;
    all.push_back(std::move(one));
  }
}

std::string ask_with(Client& client, const Server& server) {
  client.connect(server.address());
  client.send(kKeepHello);
  return client.receive("world");
}

[[noreturn]] void serve_without_descriptors() {
  const rlimit few{.rlim_cur = 64, .rlim_max = 64};
  setrlimit(RLIMIT_NOFILE, &few);
  const Server server = serve();
  std::array<Client, 4> clients;
  clients[0].connect(server.address());
  EXPECT_NE(ask_with(clients[1], server), "");
  std::vector<UniqueFd> all = take_all_descriptors();
  // The server has but those of its connections, of which there are two.
  EXPECT_THAT(ask_with(clients[2], server), kIsHello);
  EXPECT_EQ(clients[0].receive(), "");
  all.clear();
  EXPECT_THAT(ask_with(clients[3], server), kIsHello);
  std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
}

// UBSan opens a pipe whenever it checks the type of an object.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kNeedsDescriptors = true;
#else
constexpr bool kNeedsDescriptors = false;
#endif

TEST(HttpServerDeathTest, ServesTheNewestOfItsClientsWhenThereAreNoDescriptors) {
  if (kNeedsDescriptors) GTEST_SKIP() << "the sanitizers of this build need descriptors themselves";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(serve_without_descriptors(), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void wait_for_a_descriptor() {
  const rlimit few{.rlim_cur = 64, .rlim_max = 64};
  setrlimit(RLIMIT_NOFILE, &few);
  const Server server = serve();
  Client client;
  std::vector<UniqueFd> all = take_all_descriptors();
  client.connect(server.address());
  client.send(kHello);
  all.clear();
  EXPECT_THAT(client.receive(), kIsHello);
  std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
}

TEST(HttpServerDeathTest, ServesAClientAsSoonAsThereIsADescriptorAgain) {
  if (kNeedsDescriptors) GTEST_SKIP() << "the sanitizers of this build need descriptors themselves";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(wait_for_a_descriptor(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace caravan::http
