#include "data/read_error.h"

#include <gmock/gmock.h>

#include <array>
#include <cerrno>

#include "data/input_file.h"
#include "data/token_dataset.h"

namespace caravan::data {
namespace {

using ::testing::HasSubstr;

TEST(ReadError, WhatMachineDiskOrNetworkDoIsNotTheInputsFault) {
  for (const int error : {EIO, ESTALE, ENXIO, ETIMEDOUT, EREMOTEIO, EHOSTDOWN, EHOSTUNREACH, ENOTCONN, ENODEV,
                          ENOMEM, EMFILE, ENFILE, ENOLINK}) {
    EXPECT_EQ(read_error("tokens.bin", error).value().code, ExitCode::kJobFailed) << error;
  }
  for (const int error : {ENOENT, EACCES, EPERM, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG})
    EXPECT_EQ(read_error("tokens.bin", error).value().code, ExitCode::kBadInput) << error;
}

// The memory of this process: nothing is mapped at its first byte, and the kernel says EIO.
TEST(ReadError, ADiskThatFailsInTheMiddleOfARunIsNoBadInput) {
  const Result<InputFile> file = InputFile::open("/proc/self/mem");
  ASSERT_TRUE(file) << file.error().message;
  std::array<std::byte, 16> bytes{};
  const Status read = file->read(0, bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ExitCode::kJobFailed);
  EXPECT_THAT(read.error().message,
              HasSubstr("/proc/self/mem: cannot read at byte 0: Input/output error; check"));
}

TEST(ReadError, AFileThatIsNotThereIsBadInput) {
  EXPECT_EQ(TokenDataset::open("/no/such/file.bin").error().code, ExitCode::kBadInput);
}

}  // namespace
}  // namespace caravan::data
