// What a server of short texts answers to the bytes that a connection sent. Pure.
//
// HTTP/1.0 and 1.1; GET and HEAD of a path, whose query is ignored; a request with a body is refused.
// Whatever is refused has a status that says why, and a request that cannot be understood ends its
// connection.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace caravan::http {

struct Reply {
  std::string content_type;
  std::string body;
  std::string status = "200 OK";
};

// The reply for a path; absent: not found.
using Handler = std::function<std::optional<Reply>(std::string_view path)>;

struct Exchange {
  std::size_t request_bytes = 0;  // of the input, where the connection is kept
  std::string answer;
  bool keeps_connection = false;
};

// Answers the request that the input begins with. Absent: its head is not complete, which after
// longest_head bytes it always is.
std::optional<Exchange> answer_next(std::string_view input, std::size_t longest_head, const Handler& handler);

}  // namespace caravan::http
