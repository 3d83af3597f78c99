#include "worker/trainer/libtorch.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

// Under a sanitizer too, what cannot be allocated is an exception.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}

namespace caravan::trainer {
namespace {

TEST(LibTorch, IsDeterministicAndFillsNothingThatIsWrittenAnyway) {
  make_deterministic(1);
  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
  EXPECT_FALSE(at::globalContext().deterministicFillUninitializedMemory());
}

TEST(LibTorch, ThatHasNoMemoryLeftIsKnownByItsException) {
  EXPECT_TRUE(is_out_of_memory(std::bad_alloc()));
  const std::system_error refused(std::make_error_code(std::errc::not_enough_memory), "locking 8 bytes");
  EXPECT_TRUE(is_out_of_memory(refused));
  EXPECT_TRUE(is_out_of_host_memory(refused));
  EXPECT_FALSE(is_out_of_memory(std::runtime_error("shapes do not match")));
  try {
    at::empty({int64_t{1} << 58}, at::kByte);
    FAIL() << "there is more memory than can be";
  } catch (const std::exception& error) {
    EXPECT_TRUE(is_out_of_memory(error)) << error.what();
    EXPECT_TRUE(is_out_of_host_memory(error)) << error.what();
    EXPECT_EQ(words_of(error).find("frame #"), std::string::npos) << words_of(error);
  }
}

TEST(LibTorch, AndLibrariesOfDevicesTellOfMissingMemoryInTheirText) {
  for (const char* text : {
           "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
           "rms_norm on a GPU: out of memory",
           "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
           "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
           "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
           "NCCL error in: NCCLUtils.cpp:77, unhandled cuda error\nLast error:\nCuda failure 2 'out of "
           "memory'",
           "NCCL error in: NCCLUtils.cpp:77, unhandled cuda error\nLast error:\nFailed to CUDA malloc "
           "4194304 "
           "bytes",
       }) {
    EXPECT_TRUE(is_out_of_memory(std::runtime_error(text))) << text;
    EXPECT_FALSE(is_out_of_host_memory(std::runtime_error(text))) << text;
  }
  for (const char* text :
       {"CUDA error: an illegal memory access was encountered",
        "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`",
        "NCCL error in: NCCLUtils.cpp:77, remote process exited or there was a network error",
        "NCCL error in: NCCLUtils.cpp:77, unhandled system error\nLast error:\nCall to ibv_reg_mr failed "
        "with error Cannot allocate memory",
        "NCCL error in: NCCLUtils.cpp:77, unhandled cuda error\nLast error:\nFailed to CUDA malloc async "
        "4096 "
        "bytes: Cuda failure 700 'an illegal memory access was encountered'"}) {
    EXPECT_FALSE(is_out_of_memory(std::runtime_error(text))) << text;
  }
}

}  // namespace
}  // namespace caravan::trainer
