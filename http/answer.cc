#include "http/answer.h"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace caravan::http {
namespace {

namespace beast = boost::beast::http;
using RequestParser = beast::request_parser<beast::empty_body>;

Exchange exchange(std::size_t request_bytes, const Reply& reply, bool with_body, bool keeps_connection,
                  std::string_view more_fields = "") {
  return {.request_bytes = request_bytes,
          .answer = fmt::format(
              "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Connection: {}\r\n\r\n{}",
              reply.status, reply.content_type, reply.body.size(), more_fields,
              keeps_connection ? "keep-alive" : "close", with_body ? reply.body : ""),
          .keeps_connection = keeps_connection};
}

Reply plain(const std::string& status) {
  return {.content_type = "text/plain; charset=utf-8", .body = status + "\n", .status = status};
}

// The connection ends: where the next request would begin is not known.
Exchange refusal(const std::string& status) {
  return exchange(0, plain(status), true, false);
}

Exchange answer(std::size_t request_bytes, const beast::request<beast::empty_body>& request,
                const Handler& handler) {
  const bool is_head = request.method() == beast::verb::head;
  if (!is_head && request.method() != beast::verb::get)
    return exchange(request_bytes, plain("405 Method Not Allowed"), true, request.keep_alive(),
                    "Allow: GET, HEAD\r\n");
  const std::string_view target(request.target().data(), request.target().size());
  const auto reply = handler(target.substr(0, target.find('?')));
  return exchange(request_bytes, reply ? *reply : plain("404 Not Found"), !is_head, request.keep_alive());
}

}  // namespace

std::optional<Exchange> answer_next(std::string_view input, std::size_t longest_head,
                                    const Handler& handler) {
  RequestParser parser;
  parser.header_limit(static_cast<std::uint32_t>(longest_head));
  boost::system::error_code error;
  const std::string_view head = input.substr(0, longest_head);  // the parser's own limit is of fields alone
  const std::size_t request_bytes = parser.put(boost::asio::buffer(head), error);
  const bool waits = error == beast::error::need_more;
  if (waits && head.size() < longest_head) return std::nullopt;
  if (waits || error == beast::error::header_limit) return refusal("431 Request Header Fields Too Large");
  if (error) return refusal("400 Bad Request");
  if (!parser.is_done()) return refusal("413 Content Too Large");
  return answer(request_bytes, parser.get(), handler);
}

}  // namespace caravan::http
