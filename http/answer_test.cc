#include "http/answer.h"

#include <gmock/gmock.h>

namespace caravan::http {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t kLongestHead = 1000;

std::optional<Reply> hello(std::string_view path) {
  if (path == "/hello") return Reply{"text/plain", "world"};
  if (path == "/readyz") return Reply{"text/plain", "not yet\n", "503 Service Unavailable"};
  return std::nullopt;
}

Exchange answer(std::string_view input) {
  return answer_next(input, kLongestHead, hello).value_or(Exchange{.answer = "none yet"});
}

TEST(AnswerNext, GivesTheStatusThatARequestDeserves) {
  const std::pair<std::string, const char*> cases[] = {
      {"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK"},
      {"GET /hello?a=b HTTP/1.0\r\n\r\n", "200 OK"},
      {"GET /hello HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "200 OK"},
      {"GET /readyz HTTP/1.1\r\n\r\n", "503 Service Unavailable"},
      {"GET / HTTP/1.1\r\n\r\n", "404 Not Found"},
      {"POST /hello HTTP/1.1\r\n\r\n", "405 Method Not Allowed"},
      {"GET /hello HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "413 Content Too Large"},
      {"GET /hello HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "413 Content Too Large"},
      {"GET /hello\r\n\r\n", "400 Bad Request"},
      {"GET /hello SPDY/3\r\n\r\n", "400 Bad Request"},
      {"GET /hello HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400 Bad Request"},
      {"\x16\x03\x01\r\n\r\n", "400 Bad Request"},
      {std::string(kLongestHead, 'x'), "431 Request Header Fields Too Large"},
      {"GET /hello HTTP/1.1\r\nX: " + std::string(kLongestHead, 'x') + "\r\n\r\n",
       "431 Request Header Fields Too Large"},
  };
  for (const auto& [input, status] : cases)
    EXPECT_THAT(answer(input).answer, StartsWith(std::string("HTTP/1.1 ") + status + "\r\n"))
        << input.substr(0, 50);
}

TEST(AnswerNext, WaitsForTheEndOfTheHead) {
  const std::string request = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t size = 0; size < request.size(); ++size)
    EXPECT_FALSE(answer_next(request.substr(0, size), kLongestHead, hello)) << size;
}

TEST(AnswerNext, HeadHasTheLengthButNoBody) {
  EXPECT_THAT(answer("GET /hello HTTP/1.1\r\n\r\n").answer,
              AllOf(HasSubstr("\r\nContent-Length: 5\r\n"), EndsWith("\r\n\r\nworld")));
  EXPECT_THAT(answer("HEAD /hello HTTP/1.1\r\n\r\n").answer,
              AllOf(HasSubstr("\r\nContent-Length: 5\r\n"), EndsWith("\r\n\r\n")));
}

TEST(AnswerNext, TakesOneOfSeveralRequests) {
  const std::string first = "GET /hello HTTP/1.1\r\n\r\n";
  const Exchange exchange = answer(first + "GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(exchange.request_bytes, first.size());
  EXPECT_THAT(exchange.answer, EndsWith("world"));
}

TEST(AnswerNext, KeepsTheConnectionOfWhoeverWantsThat) {
  const std::pair<const char*, bool> cases[] = {
      {"GET /hello HTTP/1.1\r\n\r\n", true},
      {"GET / HTTP/1.1\r\n\r\n", true},
      {"GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n", false},
      {"GET /hello HTTP/1.0\r\n\r\n", false},
      {"GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
      {"GET /hello HTTP/1.1\r\nContent-Length: 1\r\n\r\n", false},
      {"?\r\n\r\n", false},
  };
  for (const auto& [input, keeps] : cases) {
    EXPECT_EQ(answer(input).keeps_connection, keeps) << input;
    EXPECT_THAT(answer(input).answer,
                HasSubstr(keeps ? "\r\nConnection: keep-alive\r\n" : "\r\nConnection: close\r\n"));
  }
}

}  // namespace
}  // namespace caravan::http
