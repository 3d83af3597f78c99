#include "worker/agent/options.h"

int main(int argc, char** argv) {
  const caravan::agent::ParsedOptions parsed = caravan::agent::parse_options(argc, argv);
  if (const auto* done = std::get_if<caravan::ExitCode>(&parsed)) return static_cast<int>(*done);
  return 0;
}
