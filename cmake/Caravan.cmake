# Compiler settings and the three functions with which every room declares its targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CARAVAN_SANITIZE "" CACHE STRING "Value of -fsanitize, such as address,undefined or thread")
# With sanitizers Clang optimises nothing, for which it takes a third of the time (GCC would gain little, and fuzzing runs
# for long), but a folder whose tests would run for longer than that: it says caravan_long_tests().
if(CARAVAN_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT CARAVAN_FUZZ)
  set(CARAVAN_UNOPTIMISED ON)
endif()
macro(caravan_long_tests)
  if(CARAVAN_UNOPTIMISED)
    add_compile_options(-O1)
    set(CARAVAN_OPTIMISED _optimised)
  endif()
endmacro()
# -O3 takes a quarter more to compile: a folder whose own loops are what users wait for says caravan_hot_loops().
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
macro(caravan_hot_loops)
  set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
  caravan_long_tests()
endmacro()
# And -O1 between a fifth and a third less: one whose programs wait for others says caravan_waits_for_others().
macro(caravan_waits_for_others)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
endmacro()
# Its garbage collector takes GCC an eighth of its time, for a few hundred MB.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=2000000>)
endif()
option(CARAVAN_CUDA "Compile the kernels for CUDA devices" OFF)

# Heavy downloads and build results that every checkout shares.
if(DEFINED ENV{CARAVAN_CACHE})
  set(CARAVAN_CACHE "$ENV{CARAVAN_CACHE}")
else()
  set(CARAVAN_CACHE "$ENV{HOME}/.cache/caravan")
endif()

# caravan_wheels(SET RESULT): the environment in which ./dev setup installs wheels/SET.txt.
function(caravan_wheels set result)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env "CARAVAN_CACHE=${CARAVAN_CACHE}" "${CMAKE_SOURCE_DIR}/wheels/wheels.py" folder ${set}
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/wheels/${set}.txt")
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()
caravan_wheels(oracle _oracle)
set(CARAVAN_PYTHON "${_oracle}/bin/python")
file(GLOB CARAVAN_ORACLE_SITE "${_oracle}/lib/python3.*/site-packages")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env "CCACHE_DIR=${CARAVAN_CACHE}/ccache"
      "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/cmake/ccache.sh" ${CCACHE} "${CMAKE_BINARY_DIR}")
endif()

# It takes a third of the processor time that the usual linker takes, of two hundred programs (operator_test under the
# sanitizers: 1.4 s and 3.7 to 4.4 s).
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

include(CheckPIESupported)
check_pie_supported()
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
add_library(caravan_flags INTERFACE)
target_compile_definitions(caravan_flags INTERFACE CARAVAN_VERSION="${PROJECT_VERSION}")
target_compile_options(caravan_flags INTERFACE -Wall -Wextra -Wconversion -Wno-sign-conversion -Werror)
# CMAKE_UNITY_BUILD compiles sixteen files of a target as one, and what they include once. GCC takes all of them for headers then.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(caravan_flags INTERFACE -Wno-subobject-linkage)
endif()
if(CARAVAN_SANITIZE)
  add_compile_options(-fsanitize=${CARAVAN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<IF:$<BOOL:${CARAVAN_UNOPTIMISED}>,-O0,-O1> -g1)
  add_link_options(-fsanitize=${CARAVAN_SANITIZE})
  if(CARAVAN_UNOPTIMISED)  # by this spelling: for the newer one ccache would not look into the file
    add_compile_options("-fsanitize-blacklist=${CMAKE_SOURCE_DIR}/tests/sanitizers/others.txt")
  endif()
  if(CARAVAN_SANITIZE STREQUAL thread)
    # With this macro protobuf's map fields are larger than in Debian's library; libstdc++ needs its own half of it.
    add_compile_options(-U__SANITIZE_THREAD__)
    # The sanitizer knows no fences; Asio's own locks order the same things.
    add_compile_definitions(_GLIBCXX_TSAN=1 BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
  # GCC's bug 105562: with a sanitizer, the standard library's own regex and function seem uninitialised.
  target_compile_options(caravan_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
else()
  # Not for nvcc, which knows no such options, and whose device code has no assertions of the standard library.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong> $<$<COMPILE_LANGUAGE:CXX>:-fstack-clash-protection>
    $<$<COMPILE_LANGUAGE:CXX>:-fcf-protection>)
  add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:_FORTIFY_SOURCE=3>)
  add_link_options(-Wl,-z,relro,-z,now)
endif()

add_library(caravan_fmt STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt.cc")
add_library(fmt::static ALIAS caravan_fmt)

# Half as long to compile; what is tested stays as it is. (CMake takes a second -O0 for a repetition, which need not stand last.)
set(CARAVAN_TEST_OPTIONS SHELL:-O0 -U_FORTIFY_SOURCE)
find_package(GTest REQUIRED)
include(Precompiled)

# caravan_library(NAME SOURCES... DEPS ...): a static library whose headers are included from the repository root.
function(caravan_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE caravan_flags)
  caravan_precompiled(${name} "${CARAVAN_OPTIMISED}" ${ARG_DEPS})
endfunction()

# caravan_program(NAME SOURCES... DEPS ...): lands in build/<preset>/bin.
function(caravan_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)  # as libraries are, whose headers are compiled already
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} caravan_flags)
  caravan_precompiled(${name} "${CARAVAN_OPTIMISED}" ${ARG_DEPS})
endfunction()

enable_testing()
include(GoogleTest)

# caravan_test(NAME [WHOLE] [BY_TURNS] LABELS unit SOURCES ... DEPS ... PROGRAMS ...): a GoogleTest program, and the targets
# that it starts. A unit test takes less time than its program takes to start, so these are one of ctest's together, as are
# those of a program that is WHOLE for the same reason, and all with a sanitizer; else every test is. The target unit_tests is
# all programs of that label. Tests that go BY_TURNS have `_by_turns` behind their label, which -L finds by its beginning; what
# that means, and the label `alone`, says tests/remembering_ctest.py.
add_custom_target(unit_tests)
function(caravan_test name)
  cmake_parse_arguments(ARG "WHOLE;BY_TURNS" "TIMEOUT" "SOURCES;DEPS;LABELS;PROGRAMS;PROPERTIES" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(ARG_BY_TURNS AND ARG_LABELS STREQUAL unit)
    message(FATAL_ERROR "${name}: unit tests take turns by CARAVAN_BY_TURNS()")
  elseif(ARG_BY_TURNS AND NOT CARAVAN_SANITIZE)  # of programs with a sanitizer ./dev chooses
    string(APPEND ARG_LABELS _by_turns)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  # As the preset says, also where the folder's libraries are compiled file by file.
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests" UNITY_BUILD "$CACHE{CMAKE_UNITY_BUILD}")
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE ${CARAVAN_TEST_OPTIONS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} caravan_checkout caravan_flags GTest::gmock GTest::gtest_main)
  caravan_precompiled(${name} _test ${ARG_DEPS})
  if(ARG_PROGRAMS)
    add_dependencies(${name} ${ARG_PROGRAMS})
  endif()
  if(ARG_LABELS STREQUAL unit)
    # Built where they run: with sanitizers, most often.
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(unit_tests ${name})
  endif()
  if(CARAVAN_SANITIZE OR ARG_WHOLE OR ARG_LABELS STREQUAL unit)
    if(ARG_LABELS STREQUAL unit AND NOT ARG_PROGRAMS)
      list(APPEND ARG_LABELS alone)
    endif()
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 1200 ${ARG_PROPERTIES})
    if(ARG_WHOLE)
      set_tests_properties(${name} PROPERTIES COST 100)  # long, so among the first
    endif()
    return()
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX ${name}. PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} ${ARG_PROPERTIES})
endfunction()
