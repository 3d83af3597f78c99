#include "common/version.h"

namespace caravan {

std::string_view version() {
  return CARAVAN_VERSION;
}

}  // namespace caravan
