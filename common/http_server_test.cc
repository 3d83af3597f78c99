#include "common/http_server.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>


namespace caravan {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::StartsWith;

std::optional<HttpReply> hello(std::string_view path) {
  if (path != "/hello") return std::nullopt;
  return HttpReply{"text/plain", "world"};
}

TEST(AnswerHttp, GivesTheStatusThatARequestDeserves) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK\r\n"},
      {"GET /hello?a=b HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n"},
      {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found\r\n"},
      {"POST /hello HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed\r\n"},
      {"GET /hello\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
      {"GET /hello SPDY/3\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
      {"\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
      {"GET /hello HTTP/1.1\r\n", "HTTP/1.1 408 Request Timeout\r\n"},
      {"", "HTTP/1.1 408 Request Timeout\r\n"},
      {std::string(9000, 'x') + "\r\n\r\n", "HTTP/1.1 431 "},
  };
  for (const auto& [head, status] : cases)
    EXPECT_THAT(answer_http(head, hello), StartsWith(status)) << head.substr(0, 50);
}

TEST(AnswerHttp, HeadHasTheLengthButNoBody) {
  EXPECT_THAT(answer_http("GET /hello HTTP/1.1\r\n\r\n", hello),
              EndsWith("Content-Length: 5\r\nConnection: close\r\n\r\nworld"));
  EXPECT_THAT(answer_http("HEAD /hello HTTP/1.1\r\n\r\n", hello),
              EndsWith("Content-Length: 5\r\nConnection: close\r\n\r\n"));
}

TEST(AnswerHttp, AHandlerMaySayThatItIsNotReady) {
  const auto not_ready = [](std::string_view) {
    return HttpReply{"text/plain", "caches\n", "503 Service Unavailable"};
  };
  EXPECT_THAT(answer_http("GET /readyz HTTP/1.1\r\n\r\n", not_ready),
              StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
}

class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = HttpServer::start("127.0.0.1:0", hello);
    ASSERT_TRUE(server) << server.error().message;
    server_.emplace(std::move(*server));
  }

  UniqueFd connect_to_server() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(server_->address().substr(10))));
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  std::string ask(const std::string& request) {
    const UniqueFd fd = connect_to_server();
    EXPECT_EQ(send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string answer;
    char buffer[1024];
    for (ssize_t count = 0; (count = recv(fd.get(), buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<size_t>(count));
    return answer;
  }

  std::optional<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersOneRequestAfterTheOther) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(ask("GET /hello HTTP/1.1\r\n\r\n"), AllOf(StartsWith("HTTP/1.1 200"), EndsWith("world")));
  }
}

TEST_F(HttpServerTest, ARequestThatIsTooLongIsRefused) {
  EXPECT_THAT(ask("GET /hello HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
}

TEST_F(HttpServerTest, AClientThatSaysNothingDoesNotHoldUpTheNextForLong) {
  const UniqueFd silent = connect_to_server();
  EXPECT_THAT(ask("GET /hello HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, EndsWhileAClientIsConnected) {
  const UniqueFd silent = connect_to_server();
  server_.reset();
}

TEST_F(HttpServerTest, APortInUseIsBadInput) {
  const auto second = HttpServer::start(server_->address(), hello);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ExitCode::kBadInput);
  EXPECT_EQ(second.error().message, "cannot listen on " + server_->address() + ": Address already in use");
}

}  // namespace
}  // namespace caravan
