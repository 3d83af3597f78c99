// Who calls: as the API server knows him.
#pragma once

#include <chrono>
#include <compare>
#include <map>
#include <string>
#include <vector>

namespace caravan::service {

struct Caller {
  std::string user = {};
  std::string uid = {};
  std::vector<std::string> groups = {};
  std::map<std::string, std::vector<std::string>> extra = {};
  std::string token = {};  // that he showed; empty: he came with a certificate
  // Some never do, which is the year 9999: farther than nanoseconds reach.
  std::chrono::sys_seconds certificate_ends = std::chrono::sys_seconds::max();

  auto operator<=>(const Caller&) const = default;
};

// What a call brings along.
struct Credential {
  std::string token = {};
  std::string certificate_pem = {};  // of a peer whose chain was verified; counts where there is no token
  std::string host = {};             // that the call comes from
};

}  // namespace caravan::service
