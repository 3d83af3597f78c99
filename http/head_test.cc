#include "http/head.h"

#include <gmock/gmock.h>

namespace caravan::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::size_t kLongestHead = 1000;

std::string status_of(std::string_view input) {
  const auto head = read_head(input, kLongestHead);
  if (!head) return "none yet";
  return *head ? "good" : head->error().status;
}

Head head_in(std::string_view input) {
  const auto head = read_head(input, kLongestHead);
  EXPECT_TRUE(head && *head) << input;
  return head && *head ? **head : Head{};
}

TEST(ReadHead, TakesWhatCanBeUnderstoodInOneWayOnly) {
  const std::pair<std::string, const char*> cases[] = {
      {"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", "good"},
      {"GET /hello?a=b HTTP/1.0\r\n\r\n", "good"},
      {"POST /hello HTTP/1.1\r\nContent-Length: 5\r\n\r\n", "good"},
      {"POST /hello HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "411 Length Required"},
      {"POST /hello HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "411 Length Required"},
      {"POST /a HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "400 Bad Request"},
      {"POST /a HTTP/1.1\r\nContent-Length:\r\n 5\r\n\r\n", "400 Bad Request"},
      {"GET /a HTTP/1.1\r\nX: y\r\n\tContent-Length: 5\r\n\r\n", "400 Bad Request"},
      {"GET /hello\r\n\r\n", "400 Bad Request"},
      {"GET /hello SPDY/3\r\n\r\n", "400 Bad Request"},
      {"GET /hello HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400 Bad Request"},
      {"\x16\x03\x01\r\n\r\n", "400 Bad Request"},
      {std::string(kLongestHead, 'x'), "431 Request Header Fields Too Large"},
      {"GET /hello HTTP/1.1\r\nX: " + std::string(kLongestHead, 'x') + "\r\n\r\n",
       "431 Request Header Fields Too Large"},
  };
  for (const auto& [input, status] : cases) EXPECT_EQ(status_of(input), status) << input.substr(0, 60);
}

TEST(ReadHead, TakesNoRequestWithAChunkedBodyWhateverLengthItClaims) {
  for (const char* length : {"0", "5"}) {
    const std::string status = status_of(std::string("POST /a HTTP/1.1\r\nContent-Length: ") + length +
                                         "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    EXPECT_NE(status, "good");
    EXPECT_NE(status, "none yet");
  }
}

TEST(ReadHead, WaitsForTheEndOfTheHead) {
  const std::string request = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t size = 0; size < request.size(); ++size)
    EXPECT_FALSE(read_head(request.substr(0, size), kLongestHead)) << size;
}

TEST(ReadHead, TellsWhatWasSentAndWhereTheBodyBegins) {
  const std::string head = "POST /a/b?c=d HTTP/1.1\r\nContent-TYPE: Text\r\nContent-Length: 7\r\n\r\n";
  const Head read = head_in(head + "a body and more");
  EXPECT_EQ(read.bytes, head.size());
  EXPECT_EQ(read.body_bytes, 7u);
  EXPECT_EQ(read.request.method, "POST");
  EXPECT_EQ(read.request.target, "/a/b?c=d");
  EXPECT_EQ(read.request.path(), "/a/b");
  EXPECT_THAT(read.request.fields, ElementsAre(Pair("content-type", "Text"), Pair("content-length", "7")));
  EXPECT_EQ(read.request.field("content-type"), "Text");
  EXPECT_EQ(read.request.field("absent"), "");
}

TEST(ReadHead, KeepsTheConnectionOfWhoeverWantsThat) {
  const std::pair<const char*, bool> cases[] = {
      {"GET /hello HTTP/1.1\r\n\r\n", true},
      {"GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n", false},
      {"GET /hello HTTP/1.0\r\n\r\n", false},
      {"GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
  };
  for (const auto& [input, keeps] : cases) EXPECT_EQ(head_in(input).keeps_connection, keeps) << input;
}

TEST(ReadHead, KnowsWhoWaitsBeforeHeSendsABody) {
  EXPECT_TRUE(
      head_in("POST / HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\n").awaits_continue);
  EXPECT_FALSE(
      head_in("POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n").awaits_continue);
  EXPECT_FALSE(head_in("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n").awaits_continue);
}

TEST(HeadOf, SaysHowLongTheBodyIsOrThatItComesInChunks) {
  const Reply reply{.content_type = "a/b", .status = "201 Created", .fields = {{"Allow", "GET"}}};
  EXPECT_EQ(head_of(reply, 5, false, true),
            "HTTP/1.1 201 Created\r\nContent-Type: a/b\r\nContent-Length: 5\r\nAllow: GET\r\n"
            "Connection: keep-alive\r\n\r\n");
  EXPECT_THAT(head_of(reply, std::nullopt, true, false),
              ::testing::AllOf(HasSubstr("Transfer-Encoding: chunked\r\n"), HasSubstr("Connection: close")));
  EXPECT_EQ(chunk_of("seventeen letters"), "11\r\nseventeen letters\r\n");
}

}  // namespace
}  // namespace caravan::http
