# CUDA's compiler from the wheels that ./dev setup installs, as CMake's language CUDA. The driver, and a device, are
# needed to run what it makes, not to compile or link it.

set(CUDA_TOOLKIT "" CACHE PATH "Folder with bin/nvcc, if not of the wheels")
if(NOT CUDA_TOOLKIT)
  caravan_wheels(nvcc _nvcc)
  file(GLOB CUDA_TOOLKIT "${_nvcc}/lib/python3.*/site-packages/nvidia/cu13")
endif()
if(NOT EXISTS "${CUDA_TOOLKIT}/bin/nvcc")
  message(FATAL_ERROR "no nvcc in '${CUDA_TOOLKIT}': run ./dev setup, or set CUDA_TOOLKIT")
endif()

set(CMAKE_CUDA_COMPILER "${CUDA_TOOLKIT}/bin/nvcc")
# Programs get the runtime by its path: the wheels have it under the name with the version only.
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
# One image a generation, and PTX of the last for those to come.
set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
enable_language(CUDA)
# CMake 3.25 gives this nvcc no flag for C++20.
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)

add_library(cuda::runtime SHARED IMPORTED GLOBAL)
set_target_properties(cuda::runtime PROPERTIES
  IMPORTED_LOCATION "${CUDA_TOOLKIT}/lib/libcudart.so.13"
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CUDA_TOOLKIT}/include"
  INTERFACE_INCLUDE_DIRECTORIES "${CUDA_TOOLKIT}/include")

# What c10d's header for NCCL includes; the library itself is LibTorch's to load.
find_path(NCCL_INCLUDE_DIR nccl.h HINTS "${CUDA_TOOLKIT}/../nccl/include" "${CUDA_TOOLKIT}/include" NO_CACHE REQUIRED)
add_library(cuda::nccl_headers INTERFACE IMPORTED GLOBAL)
set_target_properties(cuda::nccl_headers PROPERTIES
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${NCCL_INCLUDE_DIR}"
  INTERFACE_INCLUDE_DIRECTORIES "${NCCL_INCLUDE_DIR}")
