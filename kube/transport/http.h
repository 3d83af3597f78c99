// HTTP messages as plain values, so that nothing outside the transport sees Beast.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caravan::kube {

using Headers = std::vector<std::pair<std::string, std::string>>;

// The first value of that name, in any case; empty when there is none.
std::string_view header(const Headers& headers, std::string_view name);

struct HttpRequest {
  std::string method = "GET";
  std::string target;  // path and query
  Headers headers = {};
  std::string body = {};
  std::size_t longest_answer = 0;  // bytes that are taken of its body; 0: all
  // Asked at the last moment, by the thread that sends it: false, and nothing is sent. Absent: always.
  std::function<bool()> may_be_sent = {};
};

struct HttpHead {
  int status = 0;
  Headers headers = {};
};

struct HttpResponse {
  HttpHead head;
  std::string body;
};

}  // namespace caravan::kube
