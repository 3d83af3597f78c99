#include "worker/trainer/comm/gloo/gloo_rendezvous.h"

#include <gtest/gtest.h>

#include "common/listen.h"

namespace caravan::trainer {
namespace {

TEST(Gloo, AnUnknownInterfaceIsNamed) {
  ListeningSocket listener = listen_on("127.0.0.1", "0").value();
  RendezvousOptions options;
  options.port = listener.port;
  options.listen_fd = listener.fd.release();
  options.network_interface = "no-such-interface.invalid";
  try {
    GlooRendezvous rendezvous(options);
    FAIL() << "the interface does not exist";
  } catch (const CommunicationError& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-interface.invalid"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace caravan::trainer
