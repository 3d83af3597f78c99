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
#include <cstddef>
#include <cstdint>
#include <type_traits>

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

// A vector's elements as they are stored.
template <typename T>
struct StoredVector {
  using Tag = Lanes<T>;
};
template <>
struct StoredVector<c10::BFloat16> {
  using Tag = hn::Rebind<uint16_t, Lanes<float>>;
};
template <typename T>
using Stored = typename StoredVector<T>::Tag;
template <typename T>
using StoredElement = hn::TFromD<Stored<T>>;

template <typename T>
HWY_INLINE Vector<Wide<T>> widened(hn::Vec<Stored<T>> elements) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    return elements;
  } else {
    const hn::RebindToUnsigned<Lanes<float>> words;
    return hn::BitCast(Lanes<float>(), hn::ShiftLeft<16>(hn::PromoteTo(words, elements)));
  }
}

// Rounded to the nearest, ties to even; no number stays none.
template <typename T>
HWY_INLINE hn::Vec<Stored<T>> rounded_to(Vector<Wide<T>> values) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    return values;
  } else {
    const hn::RebindToUnsigned<Lanes<float>> words;
    const auto bits = hn::BitCast(words, values);
    const auto is_odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(is_odd, hn::Set(words, 0x7FFF))));
    const auto is_number = hn::RebindMask(words, hn::Eq(values, values));
    const auto kept = hn::IfThenElse(is_number, rounded, hn::Set(words, 0x7FC0));
    const hn::RebindToSigned<Lanes<float>> integers;
    return hn::DemoteTo(Stored<T>(), hn::BitCast(integers, kept));
  }
}

template <typename T>
HWY_INLINE Vector<Wide<T>> load(const T* from, Whole) {
  return widened<T>(hn::LoadU(Stored<T>(), reinterpret_cast<const StoredElement<T>*>(from)));
}

template <typename T>
HWY_INLINE void store(Vector<Wide<T>> values, T* to, Whole) {
  hn::StoreU(rounded_to<T>(values), Stored<T>(), reinterpret_cast<StoredElement<T>*>(to));
}

// Whether a part of a vector goes to and from memory without what is behind it.
template <typename T>
inline constexpr bool kHasMasks = HWY_TARGET <= (sizeof(T) < sizeof(float) ? HWY_AVX3 : HWY_AVX2);

template <typename T>
HWY_INLINE auto first(Part part) {
  return hn::FirstN(Stored<T>(), static_cast<std::size_t>(part.count));
}

// What is not there is zero.
template <typename T>
HWY_INLINE Vector<Wide<T>> load(const T* from, Part part) {
  if constexpr (kHasMasks<T>) {
    const auto* const elements = reinterpret_cast<const StoredElement<T>*>(from);
    return widened<T>(hn::MaskedLoad(first<T>(part), Stored<T>(), elements));
  } else {
    T all[hn::MaxLanes(Lanes<Wide<T>>())] = {};
    std::copy_n(from, part.count, all);
    return load(all, Whole());
  }
}

template <typename T>
HWY_INLINE void store(Vector<Wide<T>> values, T* to, Part part) {
  if constexpr (kHasMasks<T>) {
    hn::BlendedStore(rounded_to<T>(values), first<T>(part), Stored<T>(),
                     reinterpret_cast<StoredElement<T>*>(to));
  } else {
    T all[hn::MaxLanes(Lanes<Wide<T>>())];
    store(values, all, Whole());
    std::copy_n(all, part.count, to);
  }
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
