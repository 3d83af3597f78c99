// The head of a request, read from the bytes that a connection sent, and that of an answer. Pure.
//
// HTTP/1.0 and 1.1. What cannot be understood, or could be understood in two ways, is refused with a status
// that says why; the connection ends then, since where the next request would begin is not known. A body has
// a Content-Length: one in chunks is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "http/message.h"

namespace caravan::http {

struct Head {
  std::size_t bytes = 0;  // of the input
  Request request = {};   // without its body
  std::uint64_t body_bytes = 0;
  bool takes_chunks = false;  // an answer of unknown length
  bool keeps_connection = false;
  bool awaits_continue = false;  // before it sends the body
};

// Nothing: the head is not complete, which after longest_head bytes it always is.
std::optional<tl::expected<Head, Refusal>> read_head(std::string_view input, std::size_t longest_head);

// The head of an answer; no length: the body comes in chunks, or ends with the connection.
std::string head_of(const Reply& reply, std::optional<std::size_t> length, bool in_chunks,
                    bool keeps_connection);
// A part of a body that comes in chunks, which is not empty.
std::string chunk_of(std::string_view part);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace caravan::http
