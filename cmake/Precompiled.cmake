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

# _caravan_headers(NAME HEADERS ... OPTIONS ... DEPS ...): the target that compiles them, by these options.
function(_caravan_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;OPTIONS;DEPS" ${ARGN})
  file(CONFIGURE OUTPUT "${name}.cc" CONTENT "")
  add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cc")
  # So that they have the same bytes when they are compiled anew, and ccache finds what stands behind them.
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS}
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  target_link_libraries(${name} PRIVATE caravan_flags ${ARG_DEPS})
  target_precompile_headers(${name} PRIVATE ${CARAVAN_PRECOMPILED_HEADERS} ${ARG_HEADERS})
endfunction()

# caravan_headers(KIND HEADERS ... TEST_HEADERS ... DEPS ...): of targets of a KIND, "" or _torch, those of all and these, and in
# tests the last ones, too.
function(caravan_headers kind)
  if(NOT CARAVAN_PRECOMPILE)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "HEADERS;TEST_HEADERS;DEPS" ${ARGN})
  find_package(Boost 1.81 REQUIRED)
  _caravan_headers(caravan${kind}_headers HEADERS ${ARG_HEADERS} DEPS Boost::headers ${ARG_DEPS})
  if(CARAVAN_UNOPTIMISED)
    _caravan_headers(caravan${kind}_optimised_headers HEADERS ${ARG_HEADERS} OPTIONS -O1 DEPS Boost::headers ${ARG_DEPS})
  endif()
  _caravan_headers(caravan${kind}_test_headers HEADERS ${ARG_HEADERS} ${ARG_TEST_HEADERS} <gmock/gmock.h> <gtest/gtest.h>
    OPTIONS ${CARAVAN_TEST_OPTIONS} -fPIE DEPS Boost::headers GTest::gmock ${ARG_DEPS})
  set_target_properties(caravan${kind}_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()
caravan_headers("")

# _caravan_kind(RESULT DEPS...): of a target that links these.
function(_caravan_kind result)
  set(kind "")
  foreach(dep ${ARGN})
    if(dep STREQUAL torch::cpu)
      set(kind _torch)
    elseif(TARGET ${dep})
      get_target_property(known ${dep} CARAVAN_KIND)
      if(known)
        string(REPLACE caravan "" kind ${known})
      else()
        get_target_property(deps ${dep} INTERFACE_LINK_LIBRARIES)
        _caravan_kind(kind ${deps})
      endif()
    endif()
    if(kind)
      break()
    endif()
  endforeach()
  set(${result} "${kind}" PARENT_SCOPE)
endfunction()

# caravan_precompiled(TARGET VARIANT DEPS...): its files are compiled behind the headers of its kind. VARIANT: "", _optimised or
# _test.
function(caravan_precompiled name variant)
  if(CARAVAN_PRECOMPILE)
    _caravan_kind(kind ${ARGN})
    set_target_properties(${name} PROPERTIES CARAVAN_KIND caravan${kind})
    target_precompile_headers(${name} REUSE_FROM caravan${kind}${variant}_headers)
  endif()
endfunction()
