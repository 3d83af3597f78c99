// For tests: a client that says what it is told, in the pieces that it is told.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <string_view>

#include "common/unique_fd.h"

namespace caravan::http::testing {

class Client {
 public:
  // address: HOST:PORT of this machine, whatever its host is.
  void connect(const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  void send(std::string_view text) {
    EXPECT_EQ(::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Sends nothing more.
  void end() { shutdown(fd_.get(), SHUT_WR); }
  // Until the end of the connection, or until what is wanted has come.
  std::string receive(std::string_view wanted = {}) {
    std::string text;
    std::array<char, 4096> buffer;
    while (wanted.empty() || text.find(wanted) == std::string::npos) {
      const ssize_t count = recv(fd_.get(), buffer.data(), buffer.size(), 0);
      if (count <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  UniqueFd fd_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

inline Client connect(const std::string& address) {
  Client client;
  client.connect(address);
  return client;
}

inline std::string ask(const std::string& address, std::string_view request) {
  Client client = connect(address);
  client.send(request);
  return client.receive();
}

}  // namespace caravan::http::testing
