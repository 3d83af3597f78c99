# cmake -D INPUT=profile.yaml -D OUTPUT=header -P EmbedProfile.cmake: an engine profile (one level of `key: value`) as JSON in
# a C++ header, so that no program has to read YAML for its default.
file(STRINGS "${INPUT}" _lines REGEX "^[A-Za-z]")
set(_entries)
foreach(_line IN LISTS _lines)
  if(NOT _line MATCHES "^([A-Za-z0-9]+): *(.*)$")
    message(FATAL_ERROR "${INPUT}: not `key: value`: ${_line}")
  endif()
  set(_key "${CMAKE_MATCH_1}")
  set(_value "${CMAKE_MATCH_2}")
  if(NOT _value MATCHES "^([0-9]+|true|false|\".*\")$")
    set(_value "\"${_value}\"")
  endif()
  list(APPEND _entries "\"${_key}\":${_value}")
endforeach()
list(JOIN _entries "," _json)
file(WRITE "${OUTPUT}" "#pragma once

#include <string_view>

namespace caravan::planner {

inline constexpr std::string_view kEmbeddedProfileJson = R\"profile({${_json}})profile\";

}  // namespace caravan::planner
")
