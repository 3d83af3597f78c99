// e to the power of the elements of a vector, none above zero, for files that include vectors-inl.h.
#if defined(CARAVAN_EXPONENTIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CARAVAN_EXPONENTIAL_INL_H
#undef CARAVAN_EXPONENTIAL_INL_H
#else
#define CARAVAN_EXPONENTIAL_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

// 2^n for whole numbers n ≥ −126.
HWY_INLINE Vector<float> power_of_two(Vector<float> n) {
  const hn::RebindToSigned<Lanes<float>> integers;
  const auto exponent = hn::Add(hn::ConvertTo(integers, n), hn::Set(integers, 127));
  return hn::BitCast(Lanes<float>(), hn::ShiftLeft<23>(exponent));
}

// Of x ≤ 0, within 1.3 ulp; zero where fp32 has no normal number for it. What is no number stays none.
//
// e^x = 2^n · e^r with |r| ≤ log(2) / 2; the polynomial is Cephes', log(2) in two parts (Cody and Waite).
HWY_INLINE Vector<float> negative_exponential(Vector<float> x) {
  const Lanes<float> d;
  const auto n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504F)));
  const auto r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x));
  auto p = hn::MulAdd(r, hn::Set(d, 1.9875691500e-4F), hn::Set(d, 1.3981999507e-3F));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3F));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5F));
  p = hn::MulAdd(hn::Mul(r, r), p, hn::Add(r, hn::Set(d, 1.0F)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0F)), hn::Mul(p, power_of_two(n)));
}

// Highway's own function makes a number of what is none.
HWY_INLINE Vector<double> negative_exponential(Vector<double> x) {
  return hn::IfThenElse(hn::Eq(x, x), hn::Exp(Lanes<double>(), x), x);
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the guard, which highway flips from one instruction set to the next
