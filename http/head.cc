#include "http/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <utility>

#include "common/lower_case.h"

namespace caravan::http {
namespace {

namespace beast = boost::beast::http;
using RequestParser = beast::request_parser<beast::empty_body>;

Head head_from(const RequestParser& parser, std::size_t bytes) {
  const auto& message = parser.get();
  Head head{
      .bytes = bytes,
      .request = {.method = std::string(message.method_string()), .target = std::string(message.target())},
      .body_bytes = parser.content_length().value_or(0),
      .takes_chunks = message.version() >= 11,
      .keeps_connection = message.keep_alive()};
  for (const auto& field : message)
    head.request.fields.emplace_back(lower_case(field.name_string()), std::string(field.value()));
  head.awaits_continue =
      head.takes_chunks && head.body_bytes > 0 && lower_case(head.request.field("expect")) == "100-continue";
  return head;
}

tl::unexpected<Refusal> refused(std::string status, std::string words) {
  return tl::unexpected<Refusal>(Refusal{.status = std::move(status), .words = std::move(words)});
}

tl::unexpected<Refusal> malformed(std::string words) {
  return refused("400 Bad Request", std::move(words));
}

}  // namespace

Reply plain_reply(const std::string& status) {
  return {.body = status + "\n", .status = status};
}

Reply plain_refusal(const Refusal& refusal) {
  return {.body = fmt::format("{}: {}\n", refusal.status, refusal.words), .status = refusal.status};
}

std::optional<tl::expected<Head, Refusal>> read_head(std::string_view input, std::size_t longest_head) {
  RequestParser parser;
  parser.header_limit(static_cast<std::uint32_t>(longest_head));
  parser.body_limit(boost::none);  // whoever reads the body has a limit of his own
  boost::system::error_code error;
  const std::string_view head = input.substr(0, longest_head);  // the parser's own limit is of fields alone
  const std::size_t bytes = parser.put(boost::asio::buffer(head), error);
  const bool waits = error == beast::error::need_more;
  if (waits && head.size() < longest_head) return std::nullopt;
  if (waits || error == beast::error::header_limit)
    return refused(
        "431 Request Header Fields Too Large",
        fmt::format("expected a request line and fields of at most {} bytes together", longest_head));
  if (error) return malformed(fmt::format("expected a request of HTTP/1.1 ({})", error.message()));
  // Beast joins lines of a field (RFC 9112, 5.2), which others may take for fields of their own.
  const std::string_view read = head.substr(0, bytes);
  if (read.find("\r\n ") != read.npos || read.find("\r\n\t") != read.npos)
    return malformed("expected each field in one line");
  // Beast takes a Content-Length beside it, which others may go by.
  if (parser.get().count(beast::field::transfer_encoding) > 0)
    return refused("411 Length Required", "expected a body with a Content-Length, and not in chunks");
  return head_from(parser, bytes);
}

std::string head_of(const Reply& reply, std::optional<std::size_t> length, bool in_chunks,
                    bool keeps_connection) {
  std::string head = fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\n", reply.status, reply.content_type);
  if (length) head += fmt::format("Content-Length: {}\r\n", *length);
  if (in_chunks) head += "Transfer-Encoding: chunked\r\n";
  for (const auto& [name, value] : reply.fields) head += fmt::format("{}: {}\r\n", name, value);
  return head + fmt::format("Connection: {}\r\n\r\n", keeps_connection ? "keep-alive" : "close");
}

std::string chunk_of(std::string_view part) {
  return fmt::format("{:x}\r\n{}\r\n", part.size(), part);
}

}  // namespace caravan::http
