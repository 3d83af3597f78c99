// What a command tells people. Words of others may stand in it, so it goes out without control characters,
// which move the cursor of who reads them. What brings colours of its own, or a document, is printed instead.
//
// Nothing is thrown where the stream takes no more, since threads say things, too. Whoever goes on for long
// ends where standard output does not; main tells of it (standard_stream.h).
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "common/utf8.h"

namespace caravan::cli {

template <typename... Args>
void say(std::FILE* to, fmt::format_string<Args...> form, Args&&... args) {
  const std::string text = fmt::format(form, std::forward<Args>(args)...);
  std::fputs(readable(text).c_str(), to);
}

// On standard output.
template <typename... Args>
void say(fmt::format_string<Args...> form, Args&&... args) {
  say(stdout, form, std::forward<Args>(args)...);
}

}  // namespace caravan::cli
