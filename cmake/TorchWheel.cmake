# LibTorch from the wheel that ./dev setup installs, as the imported targets torch::cpu and torch::c10.
# find_package(Torch) of the wheel insists on a full CUDA toolkit, which a CPU build does not need.

set(CARAVAN_TORCH_WHEELS libtorch CACHE STRING "Set of wheels with LibTorch: libtorch, or cuda, which has all of CUDA's libraries")
set(TORCH_WHEEL_DIR "" CACHE PATH "site-packages/torch of another wheel than that set has")
if(NOT TORCH_WHEEL_DIR)
  caravan_wheels(${CARAVAN_TORCH_WHEELS} _libtorch)
  file(GLOB TORCH_WHEEL_DIR "${_libtorch}/lib/python3.*/site-packages/torch")
endif()
if(NOT EXISTS "${TORCH_WHEEL_DIR}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "no LibTorch in '${TORCH_WHEEL_DIR}': run ./dev setup, or set TORCH_WHEEL_DIR")
endif()
file(STRINGS "${TORCH_WHEEL_DIR}/version.py" _torch_version REGEX "^__version__ = ")
string(REGEX REPLACE ".*'([0-9.]+).*" "\\1" _torch_version "${_torch_version}")
file(STRINGS "${CMAKE_SOURCE_DIR}/wheels/libtorch.in" _torch_wanted REGEX "^torch==")
string(REPLACE "torch==" "" _torch_wanted "${_torch_wanted}")
if(NOT _torch_version STREQUAL _torch_wanted)
  message(FATAL_ERROR "LibTorch in '${TORCH_WHEEL_DIR}' is ${_torch_version}, and wheels/libtorch.in asks for ${_torch_wanted}: run ./dev setup, or set "
    "TORCH_WHEEL_DIR to the folder torch of that wheel")
endif()
get_filename_component(_site "${TORCH_WHEEL_DIR}" DIRECTORY)

# The wheel also ships old google/protobuf and fmt headers: show the compiler only torch's own. Each build of
# LibTorch has a folder of its own: its headers keep their old times, so that what was compiled with another
# one would count as done.
file(SHA256 "${TORCH_WHEEL_DIR}/version.py" _torch_build)
string(SUBSTRING "${_torch_build}" 0 12 _torch_build)
set(_torch_view "${CMAKE_BINARY_DIR}/torch-include/${_torch_build}")
file(MAKE_DIRECTORY "${_torch_view}")
foreach(_d ATen c10 caffe2 torch)
  file(CREATE_LINK "${TORCH_WHEEL_DIR}/include/${_d}" "${_torch_view}/${_d}" SYMBOLIC)
endforeach()
# Where installed programs find it, those in bin/ do, too: their run path is the same. Between a configuration with
# another wheel and the end of the build they and its libraries may not match.
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
file(CREATE_LINK "${TORCH_WHEEL_DIR}/lib" "${CMAKE_BINARY_DIR}/lib/caravan" SYMBOLIC)
set(_torch_includes "${_torch_view}" "${_torch_view}/torch/csrc/api/include")

add_library(torch::c10 SHARED IMPORTED GLOBAL)
set_target_properties(torch::c10 PROPERTIES
  IMPORTED_LOCATION "${TORCH_WHEEL_DIR}/lib/libc10.so"
  INTERFACE_INCLUDE_DIRECTORIES "${_torch_includes}"
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${_torch_includes}")

add_library(torch::cpu SHARED IMPORTED GLOBAL)
set_target_properties(torch::cpu PROPERTIES
  IMPORTED_LOCATION "${TORCH_WHEEL_DIR}/lib/libtorch_cpu.so"
  IMPORTED_LINK_DEPENDENT_LIBRARIES torch::c10
  INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO;AT_PER_OPERATOR_HEADERS"
  INTERFACE_LINK_LIBRARIES "torch::c10;Threads::Threads"
  INTERFACE_LINK_OPTIONS "LINKER:-rpath-link,${TORCH_WHEEL_DIR}/lib:${_site}/nvidia/cu13/lib")

# The part for GPUs, of the same wheel, for what is opened where CUDA's libraries are. What it brings is found through
# LibTorch's tables alone, so that the linker would see no need for it.
add_library(torch::cuda INTERFACE IMPORTED GLOBAL)
set_target_properties(torch::cuda PROPERTIES
  INTERFACE_LINK_LIBRARIES "torch::cpu;${TORCH_WHEEL_DIR}/lib/libc10_cuda.so"
  INTERFACE_LINK_OPTIONS "LINKER:--push-state,--no-as-needed;${TORCH_WHEEL_DIR}/lib/libtorch_cuda.so;LINKER:--pop-state")

# What tells of each kernel that a device runs; LibTorch needs it, too.
add_library(torch::cupti SHARED IMPORTED GLOBAL)
set_target_properties(torch::cupti PROPERTIES
  IMPORTED_LOCATION "${_site}/nvidia/cu13/lib/libcupti.so.13"
  INTERFACE_INCLUDE_DIRECTORIES "${_site}/nvidia/cu13/include"
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${_site}/nvidia/cu13/include")

# at::parallel_for is inline, and works on one thread where its caller is compiled without OpenMP. The wheel brings the
# library along, which a target that calls it has among its DEPS. To the thread sanitizer, which does not see into that library,
# all that the threads share is a race.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CARAVAN_SANITIZE STREQUAL "thread")
  set_property(TARGET torch::cpu PROPERTY INTERFACE_COMPILE_OPTIONS $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
endif()
file(GLOB _torch_openmp "${TORCH_WHEEL_DIR}/lib/libgomp*.so*")
if(NOT _torch_openmp)
  message(FATAL_ERROR "LibTorch in '${TORCH_WHEEL_DIR}' has no libgomp of its own: run ./dev setup, or set TORCH_WHEEL_DIR to the folder torch of that wheel")
endif()
list(GET _torch_openmp 0 _torch_openmp)
add_library(torch::openmp SHARED IMPORTED GLOBAL)
set_target_properties(torch::openmp PROPERTIES IMPORTED_LOCATION "${_torch_openmp}")

# What nearly every file of ours that includes LibTorch reads of it takes longer to compile than the file itself.
caravan_headers(_torch
  HEADERS <ATen/Context.h> <ATen/Parallel.h> <ATen/TensorOperators.h> <ATen/core/Tensor.h> <ATen/ops/empty.h> <ATen/ops/zeros.h>
  TEST_HEADERS <ATen/ATen.h>
  DEPS torch::cpu)
