// Where a run's page is: what --page says, and what the user opens.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"

namespace caravan::cli {

struct PageAddress {
  std::string listen = {};              // HOST:PORT
  std::string host = {};                // to open it by; in brackets where it is one of IPv6
  std::vector<std::string> names = {};  // of this machine, in lower case
  bool is_loopback = false;
};

// HOST:PORT. Bad input, named as --page; that nobody can listen there is told by who tries.
Result<PageAddress> parse_page_address(const std::string& text);

// The fragment, which browsers keep to themselves, has the token. listening: HOST:PORT as it is.
std::string url_of(const PageAddress& address, const std::string& listening, const std::string& token);

// That nobody guesses.
Result<std::string> random_token();

}  // namespace caravan::cli
