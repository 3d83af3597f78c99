// The page of the job service and of `caravan run --page`, for anybody: it holds nothing secret, and asks for
// what it shows with the token of whoever reads it.
//
// No script, style or address but the service's own is let in, and no other page may frame it.
#pragma once

#include <optional>
#include <string_view>

#include "http/message.h"

namespace caravan::service {

// The reply to a GET or HEAD of that path; absent: it is none of the page's. run: the one job that there is,
// as the API names it, which can only be looked at; empty: of a service.
std::optional<http::Reply> page_reply(std::string_view path, std::string_view run = {});

}  // namespace caravan::service
