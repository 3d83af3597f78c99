#include "common/testing/checkout.h"

namespace caravan::test {

std::string source_folder() {
  return CARAVAN_SOURCE_DIR;
}

std::string program_folder() {
  return CARAVAN_BIN_DIR;
}

}  // namespace caravan::test
