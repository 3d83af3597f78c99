// Any bytes as what a client sends to the HTTP server: each request is answered with a status and its true
// length, or ends the connection; however the bytes are cut into packets, the answers are the same.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "http/answer.h"

namespace {

using caravan::http::answer_next;
using caravan::http::Exchange;
using caravan::http::Reply;

constexpr std::size_t kLongestHead = 256;
constexpr std::string_view kBody = "the body";

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::optional<Reply> reply(std::string_view path) {
  require(path.find('?') == std::string_view::npos, "the path has a query");
  require(path.find_first_of(" \r\n") == std::string_view::npos, "the path has white space");
  if (path.size() % 2 == 0) return std::nullopt;
  return Reply{.content_type = "text/plain", .body = std::string(kBody)};
}

void check_exchange(std::string_view input, const Exchange& exchange) {
  require(exchange.answer.starts_with("HTTP/1.1 "), "the answer has no status");
  require(exchange.answer.find("\r\n\r\n") != std::string::npos, "the answer has no end of its head");
  const bool is_understood = exchange.request_bytes > 0;
  require(is_understood || !exchange.keeps_connection, "nothing was taken, and the connection goes on");
  require(exchange.request_bytes <= input.size() && exchange.request_bytes <= kLongestHead,
          "more was taken than there is, or may be");
}

bool is_same(const std::optional<Exchange>& a, const Exchange& b) {
  return a && a->request_bytes == b.request_bytes && a->answer == b.answer &&
         a->keeps_connection == b.keeps_connection;
}

// Of the first bytes alone: nothing yet, or already what all of them get.
void check_prefixes(std::string_view input, const Exchange& whole) {
  for (std::size_t size = 0; size < input.size() && size <= kLongestHead; ++size) {
    const auto part = answer_next(input.substr(0, size), kLongestHead, reply);
    require(!part || is_same(part, whole), "the answer depends on how the bytes come");
    require(!part || size >= whole.request_bytes, "half a request was answered");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  while (true) {
    const auto exchange = answer_next(input, kLongestHead, reply);
    require(exchange || input.size() < kLongestHead, "a head of the greatest length waits for more");
    if (!exchange) return 0;
    check_exchange(input, *exchange);
    check_prefixes(input, *exchange);
    if (!exchange->keeps_connection) return 0;
    input.remove_prefix(exchange->request_bytes);
  }
}
