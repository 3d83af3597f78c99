// Requests and replies as plain values, so that nobody outside of this room sees Beast.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caravan::http {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;  // GET
  std::string target;  // path and query, as they were sent
  Fields fields = {};  // names in lower case
  std::string body = {};
  std::string host = {};             // the address that it comes from
  std::string certificate_pem = {};  // of a client whose chain was verified

  // The field's first value; empty: there is none.
  std::string_view field(std::string_view lower_case_name) const {
    for (const auto& [name, value] : fields) {
      if (name == lower_case_name) return value;
    }
    return {};
  }
  // That it holds, about: many short fields hold more than was sent.
  std::size_t bytes() const {
    std::size_t sum = target.size() + body.size() + certificate_pem.size();
    for (const auto& [name, value] : fields) sum += sizeof(Fields::value_type) + name.size() + value.size();
    return sum;
  }
  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
};

inline constexpr char kPlainText[] = "text/plain; charset=utf-8";
inline constexpr char kMetricsText[] =
    "text/plain; version=0.0.4; charset=utf-8";  // as Prometheus reads them

struct Reply {
  std::string content_type = kPlainText;
  std::string body = {};
  std::string status = "200 OK";
  Fields fields = {};
};

// "404 Not Found\n" with that status.
Reply plain_reply(const std::string& status);

// Why a request is not handed over.
struct Refusal {
  std::string status;  // 413 Content Too Large
  std::string words;   // what was expected
};
// "413 Content Too Large: expected a body of at most 100 bytes\n"
Reply plain_refusal(const Refusal& refusal);

}  // namespace caravan::http
