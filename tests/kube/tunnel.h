// What servers between a client and its server share: bytes go from one socket to the other.
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

namespace caravan::kube::testing {

// Whoever reads or writes it goes on, with an error.
inline void hang_up(boost::asio::ip::tcp::socket& socket) {
  ::shutdown(socket.native_handle(), SHUT_RDWR);
}

// Until one of them ends; then both do. While `swallows`, what is read goes nowhere.
inline void pump(boost::asio::ip::tcp::socket& from, boost::asio::ip::tcp::socket& to,
                 const std::atomic<bool>& swallows = false) {
  std::array<char, 4096> bytes{};
  boost::system::error_code error;
  while (!error) {
    const std::size_t got = from.read_some(boost::asio::buffer(bytes), error);
    if (!error && !swallows) boost::asio::write(to, boost::asio::buffer(bytes.data(), got), error);
  }
  hang_up(from);
  hang_up(to);
}

}  // namespace caravan::kube::testing
