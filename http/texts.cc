#include "http/texts.h"

#include <utility>

namespace caravan::http {
namespace {

Reply reply_to(const Request& request, const Texts& texts) {
  if (!reads(request)) {
    Reply refused = plain_reply("405 Method Not Allowed");
    refused.fields = {{"Allow", "GET, HEAD"}};
    return refused;
  }
  return texts(request.path()).value_or(plain_reply("404 Not Found"));
}

}  // namespace

bool reads(const Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

Handler serve_texts(Texts texts) {
  return [texts = std::move(texts)](const std::shared_ptr<Exchange>& exchange) {
    exchange->reply(reply_to(exchange->request(), texts));
  };
}

}  // namespace caravan::http
