// Short texts by their path, such as probes and metrics: GET and HEAD, whose query is ignored.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "http/exchange.h"

namespace caravan::http {

// The reply for a path; absent: not found. Called by the server's thread: what takes long holds up others.
using Texts = std::function<std::optional<Reply>(std::string_view path)>;

Handler serve_texts(Texts texts);

// Whether it asks for a text: by GET, or by HEAD for its length and fields alone.
bool reads(const Request& request);

}  // namespace caravan::http
