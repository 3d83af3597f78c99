// Compiles the file that HWY_TARGET_INCLUDE names once for each instruction set of instruction_set.h. To be
// included before vectors-inl.h.
//
// On x86 that is SSE4, which every processor since 2011 has, AVX2, and AVX-512 as of Skylake; elsewhere what
// the compiler works for.
#pragma once

#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_DISABLED_TARGETS HWY_AVX3_DL
#endif
#include <hwy/foreach_target.h>
