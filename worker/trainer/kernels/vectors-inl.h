// Vectors of the instruction set at hand over tensors of any storage type, in the type that sums are made in.
//
// A file that HWY_TARGET_INCLUDE names includes it; what stands here is compiled once for each instruction
// set. Numbers that are left over at the end of a row take the same operations as all others, so results do
// not depend on where work is cut.
#if defined(CARAVAN_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CARAVAN_VECTORS_INL_H
#undef CARAVAN_VECTORS_INL_H
#else
#define CARAVAN_VECTORS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "worker/trainer/kernels/storage_type.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// W of storage type T's sums.
template <typename W>
using Lanes = hn::ScalableTag<W>;
template <typename W>
using Vector = hn::Vec<Lanes<W>>;

// How much of a vector is there.
struct Whole {};
struct Part {
  int64_t count;
};

template <std::floating_point W>
HWY_INLINE Vector<W> load(const W* from, Whole) {
  return hn::LoadU(Lanes<W>(), from);
}

HWY_INLINE Vector<float> load(const c10::BFloat16* from, Whole) {
  const hn::RebindToUnsigned<Lanes<float>> words;
  const hn::Rebind<uint16_t, Lanes<float>> halves;
  const auto bits = hn::PromoteTo(words, hn::LoadU(halves, reinterpret_cast<const uint16_t*>(from)));
  return hn::BitCast(Lanes<float>(), hn::ShiftLeft<16>(bits));
}

template <std::floating_point W>
HWY_INLINE void store(Vector<W> values, W* to, Whole) {
  hn::StoreU(values, Lanes<W>(), to);
}

// Rounded to the nearest, ties to even; no number stays none.
HWY_INLINE void store(Vector<float> values, c10::BFloat16* to, Whole) {
  const hn::RebindToUnsigned<Lanes<float>> words;
  const hn::Rebind<uint16_t, Lanes<float>> halves;
  const auto bits = hn::BitCast(words, values);
  const auto is_odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(is_odd, hn::Set(words, 0x7FFF))));
  const auto is_number = hn::RebindMask(words, hn::Eq(values, values));
  const auto kept = hn::IfThenElse(is_number, rounded, hn::Set(words, 0x7FC0));
  const hn::RebindToSigned<Lanes<float>> integers;
  hn::StoreU(hn::DemoteTo(halves, hn::BitCast(integers, kept)), halves, reinterpret_cast<uint16_t*>(to));
}

// What is not there is zero.
template <typename T>
HWY_INLINE Vector<Wide<T>> load(const T* from, Part part) {
  T all[hn::MaxLanes(Lanes<Wide<T>>())] = {};
  std::copy_n(from, part.count, all);
  return load(all, Whole());
}

template <typename T>
HWY_INLINE void store(Vector<Wide<T>> values, T* to, Part part) {
  T all[hn::MaxLanes(Lanes<Wide<T>>())];
  store(values, all, Whole());
  std::copy_n(all, part.count, to);
}

// body(i, extent) for vectors from elements begin, ... on.
template <typename W, typename Body>
HWY_INLINE void for_vectors(int64_t begin, int64_t end, Body body) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Lanes<W>()));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) body(i, Whole());
  if (i < end) body(i, Part{end - i});
}

// Σ term(i, extent) for i < n. Four sums at a time hide how long an addition takes.
template <typename W, typename Term>
HWY_INLINE W sum(int64_t n, Term term) {
  const Lanes<W> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, term(i, Whole()));
    b = hn::Add(b, term(i + lanes, Whole()));
    c = hn::Add(c, term(i + 2 * lanes, Whole()));
    e = hn::Add(e, term(i + 3 * lanes, Whole()));
  }
  for_vectors<W>(i, n, [&](int64_t at, auto extent) HWY_ATTR { a = hn::Add(a, term(at, extent)); });
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the guard, which highway flips from one instruction set to the next
