// Made by cpp/tools/cosine_coefficients.py; do not edit.
#pragma once

namespace cerf {

// sin(2 pi q) = q * (terms[0] + terms[1] q^2 + terms[2] q^4 + ...) for |q| <= 1/4.
template <class T>
struct SineCoefficients;
template <>
struct SineCoefficients<float> {
  static constexpr int n_terms = 5;
  static constexpr float terms[n_terms] = {
      6.283185f,    // q^1
      -41.341652f,  // q^3
      81.601f,      // q^5
      -76.54978f,   // q^7
      39.536705f,   // q^9
  };
};
template <>
struct SineCoefficients<double> {
  static constexpr int n_terms = 8;
  static constexpr double terms[n_terms] = {
      6.28318530717958,     // q^1
      -41.34170224039508,   // q^3
      81.6052492750263,     // q^5
      -76.70585964746952,   // q^7
      42.05868830538995,    // q^9
      -15.094471616631987,  // q^11
      3.8169974283251804,   // q^13
      -0.690935882396552,   // q^15
  };
};

}  // namespace cerf
