# Headers of others that most files read, compiled once for libraries and once for tests. None of ours is among them: its
# change would compile everything anew. Each file still includes what it uses: clang-tidy goes without.
option(CARAVAN_PRECOMPILE "Precompile headers of others" OFF)
set(CARAVAN_PRECOMPILED_HEADERS <algorithm> <atomic> <chrono> <filesystem> <functional> <map> <memory> <mutex> <optional>
  <span> <sstream> <string> <thread> <vector> <boost/json/serialize.hpp> <fmt/format.h> <fmt/ranges.h>
  <google/protobuf/generated_message_reflection.h> <google/protobuf/map_field_inl.h> <google/protobuf/message.h>)

# Macros that these headers read have one value for all who share them.
add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:FMT_SHARED>)
foreach(_library JSON CONTAINER)
  add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:BOOST_${_library}_DYN_LINK> $<$<COMPILE_LANGUAGE:CXX>:BOOST_${_library}_NO_LIB>)
endforeach()

# Behind precompiled headers GCC 12 takes the standard library's own code for ours, and warns of its strings without reason
# (its bug 105651); of what tests put together more than of the rest.
if(CARAVAN_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(caravan_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds>)
  if(NOT CARAVAN_SANITIZE)
    list(APPEND CARAVAN_TEST_OPTIONS -Wno-stringop-overflow)
  endif()
endif()

# caravan_headers(NAME HEADERS ... OPTIONS ... DEPS ...): the target that compiles them, by these options.
function(caravan_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;OPTIONS;DEPS" ${ARGN})
  file(CONFIGURE OUTPUT "${name}.cc" CONTENT "")
  add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cc")
  # So that they have the same bytes when they are compiled anew, and ccache finds what stands behind them.
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS}
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  target_link_libraries(${name} PRIVATE caravan_flags ${ARG_DEPS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# caravan_precompiled(TARGET HEADERS): its files are compiled behind those of that target.
function(caravan_precompiled name headers)
  if(CARAVAN_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM ${headers})
  endif()
endfunction()

if(CARAVAN_PRECOMPILE)
  find_package(Boost 1.81 REQUIRED)
  caravan_headers(caravan_headers HEADERS ${CARAVAN_PRECOMPILED_HEADERS} DEPS Boost::headers)
  if(CARAVAN_UNOPTIMISED)
    caravan_headers(caravan_optimised_headers HEADERS ${CARAVAN_PRECOMPILED_HEADERS} OPTIONS -O1 DEPS Boost::headers)
  endif()
  caravan_headers(caravan_test_headers HEADERS ${CARAVAN_PRECOMPILED_HEADERS} <gmock/gmock.h> <gtest/gtest.h>
    OPTIONS ${CARAVAN_TEST_OPTIONS} -fPIE DEPS Boost::headers GTest::gmock)
  set_target_properties(caravan_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endif()
