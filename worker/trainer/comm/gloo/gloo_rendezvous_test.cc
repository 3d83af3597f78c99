#include "worker/trainer/comm/gloo/gloo_rendezvous.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>

#include "common/listen.h"
#include "worker/trainer/comm/c10d_errors.h"

namespace caravan::trainer {
namespace {

// Of a rank that meets nobody else yet.
RendezvousOptions options_on(const std::string& interface) {
  ListeningSocket listener = listen_on("127.0.0.1", "0").value();
  RendezvousOptions options;
  options.port = listener.port;
  options.listen_fd = listener.fd.release();
  options.network_interface = interface;
  return options;
}

// Threads of this process that displace no other when they wake up.
std::ptrdiff_t patient_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::ranges::count_if(tasks, [](const auto& task) {
    return sched_getscheduler(std::stoi(task.path().filename().string())) == SCHED_BATCH;
  });
}

TEST(Gloo, ItsThreadDisplacesNobodyWhoSendsAndNoOtherThreadIsLikeIt) {
  if (sched_getscheduler(0) != SCHED_OTHER) GTEST_SKIP() << "whoever started this has chosen for all threads";
  const auto before = patient_threads();
  const GlooRendezvous rendezvous(options_on("lo"));
  EXPECT_EQ(patient_threads(), before + 1);
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

TEST(Gloo, AnUnknownInterfaceIsNamed) {
  const RendezvousOptions options = options_on("no-such-interface.invalid");
  try {
    GlooRendezvous rendezvous(options);
    FAIL() << "the interface does not exist";
  } catch (const CommunicationError& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-interface.invalid"), std::string::npos) << error.what();
  }
}

TEST(ErrorsOfC10d, KeepTheReasonOfNcclOnOneLineAndNoStackTrace) {
  try {
    guarded("all-reduce", [] {
      throw std::runtime_error(
          "NCCL error in: NCCLUtils.cpp:77, invalid usage, NCCL version 2.28.9\nncclInvalidUsage: invalid "
          "usage of NCCL library.\nLast error:\nDuplicate GPU detected : rank 1 and rank 0 both on CUDA "
          "device 1000\n\nException raised from create at NCCLUtils.cpp:77 (most recent call first):\n"
          "frame #0: c10::Error");
    });
    FAIL() << "two ranks share a device";
  } catch (const CommunicationError& error) {
    EXPECT_STREQ(error.what(),
                 "all-reduce: NCCL error in: NCCLUtils.cpp:77, invalid usage, NCCL version 2.28.9 "
                 "ncclInvalidUsage: invalid usage of NCCL library. Last error: Duplicate GPU detected : "
                 "rank 1 and rank 0 both on CUDA device 1000");
  }
}

// Its ranks would look for the cause in the network.
TEST(ErrorsOfC10d, LeaveMissingMemoryWhatItIs) {
  const auto refuse = [](const char* text) {
    guarded("all-reduce", [&] { throw std::runtime_error(text); });
  };
  try {
    refuse(
        "NCCL error in: NCCLUtils.cpp:77, unhandled cuda error\nLast error:\nCuda failure 2 'out of memory'");
    FAIL() << "there is no memory";
  } catch (const c10::OutOfMemoryError& error) {
    EXPECT_EQ(words_of(error).find("all-reduce: NCCL error"), 0) << error.what();
    EXPECT_NE(words_of(error).find("'out of memory'"), std::string::npos) << error.what();
  }
  EXPECT_THROW(refuse("NCCL error in: NCCLUtils.cpp:77, remote process exited"), CommunicationError);
  EXPECT_THROW(refuse("NCCL error in: NCCLUtils.cpp:77, unhandled system error\nLast error:\nCall to "
                      "ibv_reg_mr failed with error Cannot allocate memory"),
               CommunicationError)
      << "locked for RDMA";
  EXPECT_THROW(guarded("all-reduce", [] { throw std::bad_alloc(); }), std::bad_alloc) << "of the host";
}

}  // namespace
}  // namespace caravan::trainer
