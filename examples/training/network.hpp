// One layer of a network of rectified linear units. A sample's share of a gradient is rounded to a
// multiple of kGrain, so that sums of shares are exact, in any order: any number of ranks gets the
// same bits as one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using Vector = std::vector<double>;

constexpr double kGrain = 0x1p-24;  // sums below 2^28 are exact in a double

inline double rounded(double value) {
  return std::nearbyint(value / kGrain) * kGrain;
}

// A number in [-1, 1) that is made of two others.
inline double drawn(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a * 0x9e3779b97f4a7c15 + b + 1) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 31)) * 0x94d049bb133111eb;
  return static_cast<double>(x >> 11) * 0x1p-52 - 1;
}

struct Layer {
  std::size_t inputs, outputs;
  Vector weights;  // by output: of each input, and what is always added

  Layer(std::size_t in, std::size_t out, std::uint64_t seed)
      : inputs(in), outputs(out), weights(out * (in + 1)) {
    const double scale = 1 / std::sqrt(static_cast<double>(in));
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = scale * drawn(seed, i);
  }

  // What it gives for one sample. `rectified`: what is below 0 becomes 0.
  Vector forward(const Vector& in, bool rectified) const {
    Vector out(outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      const double* row = &weights[o * (inputs + 1)];
      double sum = row[inputs];
      for (std::size_t i = 0; i < inputs; ++i) sum += row[i] * in[i];
      out[o] = rectified ? std::max(sum, 0.0) : sum;
    }
    return out;
  }
  // Adds the share of a sample with these errors of the outputs.
  void add_gradient(const Vector& in, const Vector& errors, Vector& gradient) const {
    for (std::size_t o = 0; o < outputs; ++o) {
      double* row = &gradient[o * (inputs + 1)];
      for (std::size_t i = 0; i < inputs; ++i) row[i] += rounded(errors[o] * in[i]);
      row[inputs] += rounded(errors[o]);
    }
  }
  // The errors of what came in: none where that had been below 0.
  Vector backward(const Vector& in, const Vector& errors) const {
    Vector before(inputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      const double* row = &weights[o * (inputs + 1)];
      for (std::size_t i = 0; i < inputs; ++i) before[i] += in[i] > 0 ? row[i] * errors[o] : 0;
    }
    return before;
  }
};
