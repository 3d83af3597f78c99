#include "common/rpc_status.h"

#include <gtest/gtest.h>

namespace caravan {
namespace {

struct Ended {
  int error_code() const { return code; }
  std::string error_message() const { return message; }
  int code = 0;
  std::string message = {};
};

TEST(RpcStatus, NamesTheCodeBeforeWhatThePeerSaid) {
  EXPECT_EQ(rpc_status_text(Ended{14, "connection refused"}), "UNAVAILABLE: connection refused");
  EXPECT_EQ(rpc_status_text(Ended{16, "it showed no token"}), "UNAUTHENTICATED: it showed no token");
  EXPECT_EQ(rpc_status_text(Ended{0, ""}), "OK");
}

TEST(RpcStatus, ACodeThatGrpcDoesNotHaveIsUnknown) {
  EXPECT_EQ(rpc_code_name(17), "UNKNOWN");
  EXPECT_EQ(rpc_code_name(-1), "UNKNOWN");
}

}  // namespace
}  // namespace caravan
