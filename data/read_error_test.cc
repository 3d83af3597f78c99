#include "data/read_error.h"

#include <gmock/gmock.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "common/testing/temporary_folder.h"
#include "data/input_file.h"
#include "data/token_dataset.h"

namespace caravan::data {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(ReadError, NothingThatTheSystemRefusesIsTheInputsFault) {
  for (const int error :
       {EIO, ESTALE, ENXIO, ETIMEDOUT, ENOTCONN, ENOMEM, EMFILE, ENOENT, EACCES, EPERM, EINVAL})
    EXPECT_EQ(read_error("tokens.bin", error).value().code, ExitCode::kJobFailed) << error;
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

TEST(ReadError, OnlyWhatIsMalformedIsBadInput) {
  const test::TemporaryFolder folder;
  folder.write("malformed.bin", "no tokens");
  fs::create_directory(folder.path("unmounted"));
  for (const std::string& path :
       {std::string("/no/such/file.bin"), folder.path("unmounted"), folder.path("*.tok")})
    EXPECT_EQ(TokenDataset::open(path).error().code, ExitCode::kJobFailed) << path;
  EXPECT_EQ(TokenDataset::open(folder.path("malformed.bin")).error().code, ExitCode::kBadInput);
}

TEST(ReadError, AFileThatBecomesShorterWhileAJobReadsItIsNoBadInput) {
  const test::TemporaryFolder folder;
  folder.write("tokens.bin", "sixteen bytes...");
  const Result<InputFile> file = InputFile::open(folder.path("tokens.bin"));
  ASSERT_TRUE(file) << file.error().message;
  fs::resize_file(folder.path("tokens.bin"), 8);
  EXPECT_EQ(file->text().error().code, ExitCode::kJobFailed);
}

}  // namespace
}  // namespace caravan::data
