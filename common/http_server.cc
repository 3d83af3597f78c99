#include "common/http_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "common/listen.h"
#include "common/process.h"

namespace caravan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kClientPatience{2};
constexpr Clock::time_point kNever = Clock::time_point::max();
constexpr std::size_t kMaxHeadBytes = 8192;
constexpr std::string_view kEndOfHead = "\r\n\r\n";

std::string reply(std::string_view status, std::string_view content_type, std::string_view body,
                  bool with_body = true) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                     status, content_type, body.size(), with_body ? body : "");
}

std::string plain(std::string_view status) {
  return reply(status, "text/plain; charset=utf-8", fmt::format("{}\n", status));
}

int milliseconds_until(Clock::time_point deadline) {
  if (deadline == kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

// False when the time is over or the server stops.
bool wait_for(int fd, short events, int stop_fd, Clock::time_point deadline) {
  std::array<pollfd, 2> entries{pollfd{fd, events, 0}, pollfd{stop_fd, POLLIN, 0}};
  int ready = 0;
  do {
    ready = poll(entries.data(), entries.size(), milliseconds_until(deadline));
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && entries[1].revents == 0;
}

// Everything up to the empty line; what came so far when the client is slow or sends too much.
std::string read_head(int fd, int stop_fd, Clock::time_point deadline) {
  std::string head;
  std::array<char, 2048> buffer;
  while (head.size() <= kMaxHeadBytes && head.find(kEndOfHead) == std::string::npos) {
    if (!wait_for(fd, POLLIN, stop_fd, deadline)) break;
    const ssize_t count = recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count <= 0) break;
    head.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return head;
}

void write_all(int fd, std::string_view text, int stop_fd, Clock::time_point deadline) {
  while (!text.empty() && wait_for(fd, POLLOUT, stop_fd, deadline)) {
    const ssize_t count = send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

// Unread input would make close() reset the connection before the client has read its answer.
void close_gracefully(UniqueFd client, int stop_fd, Clock::time_point deadline) {
  shutdown(client.get(), SHUT_WR);
  std::array<char, 2048> ignored;
  while (wait_for(client.get(), POLLIN, stop_fd, deadline)) {
    if (recv(client.get(), ignored.data(), ignored.size(), MSG_DONTWAIT) <= 0) return;
  }
}

void serve(int listener, int stop_fd, const HttpHandler& handler) {
  while (wait_for(listener, POLLIN, stop_fd, kNever)) {
    UniqueFd client(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) continue;
    const auto deadline = Clock::now() + kClientPatience;
    const std::string head = read_head(client.get(), stop_fd, deadline);
    write_all(client.get(), answer_http(head, handler), stop_fd, deadline);
    close_gracefully(std::move(client), stop_fd, deadline);
  }
}

}  // namespace

std::string answer_http(std::string_view head, const HttpHandler& handler) {
  if (head.size() > kMaxHeadBytes) return plain("431 Request Header Fields Too Large");
  if (head.find(kEndOfHead) == std::string_view::npos) return plain("408 Request Timeout");
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const auto method_end = line.find(' ');
  const auto target_end = line.rfind(' ');
  if (method_end == target_end || line.substr(target_end + 1).rfind("HTTP/1.", 0) != 0)
    return plain("400 Bad Request");
  const std::string_view method = line.substr(0, method_end);
  if (method != "GET" && method != "HEAD") return plain("405 Method Not Allowed");
  const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  const auto answer = handler(target.substr(0, target.find('?')));
  if (!answer) return plain("404 Not Found");
  return reply(answer->status, answer->content_type, answer->body, method == "GET");
}

Result<HttpServer> HttpServer::start(const std::string& host_port, HttpHandler handler) {
  const auto colon = host_port.rfind(':');
  const std::string host = host_port.substr(0, colon);
  auto listener = listen_on(host, host_port.substr(colon + 1));
  if (!listener) return tl::unexpected(listener.error());
  if (Status set = set_nonblocking(listener->fd.get()); !set) return tl::unexpected(set.error());

  HttpServer server;
  server.address_ = fmt::format("{}:{}", host, listener->port);
  server.stop_event_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  server.thread_ = std::jthread([fd = std::move(listener->fd), stop_fd = server.stop_event_.get(),
                                 handler = std::move(handler)] { serve(fd.get(), stop_fd, handler); });
  return server;
}

HttpServer::~HttpServer() {
  if (stop_event_) eventfd_write(stop_event_.get(), 1);
}

}  // namespace caravan
