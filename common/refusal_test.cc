#include "common/refusal.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace caravan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Result<int> program_that_throws(std::errc code, const char* what) {
  return unless_refused([&]() -> Result<int> { throw std::system_error(std::make_error_code(code), what); });
}

TEST(Refusal, AThreadThatCannotBeStartedIsNamedWithItsLimit) {
  const Result<int> end = program_that_throws(std::errc::resource_unavailable_try_again, "thread");
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ExitCode::kJobFailed);
  EXPECT_THAT(end.error().message,
              AllOf(HasSubstr("the system refused: thread: Resource temporarily unavailable"),
                    HasSubstr("pids.max")));
}

TEST(Refusal, TheAdviceFitsWhatWasRefused) {
  EXPECT_THAT(program_that_throws(std::errc::too_many_files_open, "pipe").error().message,
              HasSubstr("ulimit -n"));
  EXPECT_THAT(program_that_throws(std::errc::no_space_on_device, "log").error().message,
              HasSubstr("No space left on device; see what"));
  const Status end = unless_refused([]() -> Status { throw std::bad_alloc(); });
  EXPECT_THAT(end.error().message, HasSubstr("no memory is left"));
}

TEST(Refusal, AnEndWithoutAnExceptionIsTheProgramsOwn) {
  EXPECT_EQ(unless_refused([]() -> Result<int> { return 7; }), 7);
  EXPECT_EQ(unless_refused([]() -> Result<int> { return bad_input("why"); }).error().message, "why");
  EXPECT_THROW(std::ignore = unless_refused([]() -> Result<int> { throw std::logic_error("ours"); }),
               std::logic_error);
}

}  // namespace
}  // namespace caravan
