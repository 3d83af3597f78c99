// Has memory that tensors give back stay with the process, so that the next step finds it in place.
//
// By default the C library maps each large block anew and unmaps it when freed, and the kernel clears every
// page of it on the way: a good part of a step where tensors are of some megabytes. To be called before other
// threads start. The heap then never shrinks: what a process holds is what it held at most.
#pragma once

namespace caravan::trainer {

void keep_freed_memory();

}  // namespace caravan::trainer
