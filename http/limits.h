// What a server gives to whoever reaches its port.
#pragma once

#include <chrono>
#include <cstddef>

namespace caravan::http {

struct Limits {
  std::size_t connections = 64;
  std::size_t head_bytes = 8192;
  std::size_t body_bytes = 0;
  std::size_t memory_bytes = std::size_t{64} << 20;  // of requests and answers of all connections together
  // From the first byte, or the connection, to the last byte; with TLS, of the handshake too.
  std::chrono::milliseconds head_time{5'000};
  std::chrono::milliseconds body_time{15'000};
  std::chrono::milliseconds idle_time{90'000};    // between two requests; Prometheus scrapes once a minute
  std::chrono::milliseconds answer_time{15'000};  // until all of an answer, or of a stream's part, is taken
  std::chrono::milliseconds heartbeat_time{15'000};  // between two heartbeats of a stream
  std::chrono::milliseconds stream_time{3'600'000};  // then it is ended, and the client comes again
};

}  // namespace caravan::http
