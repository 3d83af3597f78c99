#include "worker/trainer/memory/heap.h"

#include <malloc.h>

namespace caravan::trainer {

void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_ARENA_MAX, 1);  // blocks of others end at 32 MiB
}

}  // namespace caravan::trainer
