// Any bytes as what a client sends to the HTTP server: each head is taken with the true place of its end, or
// refused with a status; however the bytes are cut into packets, that stays the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "http/head.h"

namespace {

using caravan::http::Head;
using caravan::http::read_head;
using caravan::http::Refusal;

constexpr std::size_t kLongestHead = 256;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check_head(std::string_view input, const Head& head) {
  require(head.bytes > 0 && head.bytes <= std::min(input.size(), kLongestHead),
          "more was taken than there is, or may be");
  require(input.substr(0, head.bytes).ends_with("\n\r\n"), "a head ends before its end");
  require(head.request.path().find('?') == std::string_view::npos, "the path has a query");
  require(head.request.target.find_first_of(" \r\n") == std::string::npos, "the target has white space");
  for (const auto& [name, value] : head.request.fields) {
    require(name != "transfer-encoding", "a body in chunks was taken");
    require(name.find_first_of("\r\n:") == std::string::npos, "a name has more than a name");
    require(value.find_first_of("\r\n") == std::string::npos, "a value has line ends");
  }
}

bool is_same(const tl::expected<Head, Refusal>& a, const tl::expected<Head, Refusal>& b) {
  if (!a || !b) return !a && !b && a.error().status == b.error().status;
  return a->bytes == b->bytes && a->request.target == b->request.target && a->body_bytes == b->body_bytes &&
         a->keeps_connection == b->keeps_connection;
}

// Of the first bytes alone: nothing yet, or already what all of them get.
void check_prefixes(std::string_view input, const tl::expected<Head, Refusal>& whole) {
  for (std::size_t size = 0; size < input.size() && size <= kLongestHead; ++size) {
    const auto part = read_head(input.substr(0, size), kLongestHead);
    require(!part || is_same(*part, whole), "the head depends on how the bytes come");
    require(!part || !whole || size >= whole->bytes, "half a head was taken");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  while (true) {
    const auto head = read_head(input, kLongestHead);
    require(head || input.size() < kLongestHead, "a head of the greatest length waits for more");
    if (!head) return 0;
    check_prefixes(input, *head);
    if (!*head) return 0;
    check_head(input, **head);
    input.remove_prefix((*head)->bytes);
    if ((*head)->body_bytes > input.size()) return 0;
    input.remove_prefix((*head)->body_bytes);
  }
}
