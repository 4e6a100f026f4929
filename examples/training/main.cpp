// Training on all ranks: each has a part of the samples and all weights, and in every step the
// gradients of all ranks are summed. A layer's sum starts when its gradient is there, the last
// layer first, and goes on while the gradients of the layers before it are computed:
//
//   backward pass   layer 3 | layer 2    | layer 1        | wait, change the weights
//   allreduce               | of layer 3 | of 3 and 2     | of 3, 2 and 1
//
// The library has no thread of its own here, so the pass drives progress between samples. At the
// end each rank trains again, with all samples in a team of its own, and compares: losses and
// weights are the same bits. network.hpp has the arithmetic, memory.hpp the driver.
// Run: esp-run -n 4 training [device]; with "device" the gradients lie on a GPU.
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <espalier/espalier.hpp>

#include "memory.hpp"
#include "network.hpp"

namespace {

constexpr std::size_t kSamples = 96, kInputs = 32, kInner = 128, kOutputs = 4, kLayers = 3;
constexpr int kSteps = 40, kNoDevice = 77;
constexpr double kRate = 0.5;

Vector input_of(std::size_t sample) {
  Vector x(kInputs);
  for (std::size_t i = 0; i < kInputs; ++i) x[i] = drawn(100 + sample, i);
  return x;
}

double wanted(const Vector& x, std::size_t output) {
  return x[output] + x[output + 1] * x[output + 2];
}

// The part of one member of the team.
class Training {
 public:
  Training(const esp::Job& job, esp::TeamRef team, const Driver* driver) : job_(job), team_(team) {
    for (const Layer& layer : layers_) gradients_.emplace_back(driver, layer.weights.size());
    const auto rank = static_cast<std::size_t>(team.rank());
    const auto size = static_cast<std::size_t>(team.size());
    const std::size_t end = kSamples * (rank + 1) / size;
    for (std::size_t s = kSamples * rank / size; s < end; ++s) values_[0].push_back(input_of(s));
  }

  void step() {
    double loss = forward();
    backward();
    team_.allreduce_in_place(esp::one(loss), esp::kSum).check();
    losses_.push_back(loss / kSamples);
    for (std::size_t l = kLayers; l-- > 0;) {
      sums_[l].wait().check();
      gradients_[l].get();
      Vector& weights = layers_[l].weights;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] -= kRate / kSamples * gradients_[l].host()[i];
      }
    }
  }

  const Vector& losses() const { return losses_; }
  bool same_as(const Training& other) const {
    bool same = losses_ == other.losses_;
    for (std::size_t l = 0; l < kLayers; ++l) {
      same = same && layers_[l].weights == other.layers_[l].weights;
    }
    return same;
  }

 private:
  std::size_t samples() const { return values_[0].size(); }

  // The loss of this member's samples.
  double forward() {
    double loss = 0;
    errors_.assign(samples(), Vector(kOutputs));
    for (std::size_t l = 0; l < kLayers; ++l) values_[l + 1].resize(samples());
    for (std::size_t s = 0; s < samples(); ++s) {
      for (std::size_t l = 0; l < kLayers; ++l) {
        values_[l + 1][s] = layers_[l].forward(values_[l][s], l + 1 < kLayers);
      }
      for (std::size_t o = 0; o < kOutputs; ++o) {
        errors_[s][o] = values_[kLayers][s][o] - wanted(values_[0][s], o);
        loss += rounded(errors_[s][o] * errors_[s][o]);
      }
    }
    return loss;
  }

  void backward() {
    for (std::size_t l = kLayers; l-- > 0;) {
      Vector& gradient = gradients_[l].host();
      std::fill(gradient.begin(), gradient.end(), 0.0);
      for (std::size_t s = 0; s < samples(); ++s, (void)job_.progress()) {
        layers_[l].add_gradient(values_[l][s], errors_[s], gradient);
      }
      gradients_[l].put();
      sums_[l] = team_.allreduce_in_place_start(gradients_[l].shared(), esp::kSum).value();
      for (std::size_t s = 0; l > 0 && s < samples(); ++s, (void)job_.progress()) {
        errors_[s] = layers_[l].backward(values_[l][s], errors_[s]);
      }
    }
  }

  const esp::Job& job_;
  esp::TeamRef team_;
  std::array<Layer, kLayers> layers_ = {
      {{kInputs, kInner, 1}, {kInner, kInner, 2}, {kInner, kOutputs, 3}}};
  std::array<std::vector<Vector>, kLayers + 1> values_;  // by layer that they go into, and sample
  std::vector<Vector> errors_;                           // of the layer's outputs, by sample
  std::deque<Values> gradients_;
  std::array<esp::Request, kLayers> sums_;
  Vector losses_;  // before each step
};

}  // namespace

int main(int argc, char** argv) {
  const bool on_device = argc > 1 && std::strcmp(argv[1], "device") == 0;
  if (argc > 2 || (argc > 1 && !on_device)) {
    return std::fprintf(stderr, "usage: esp-run -n N training [device]\n"), 2;
  }
  Driver driver;
  if (on_device) {
    const char* missing = driver.load(driver_library());
    if (missing != nullptr) return std::fprintf(stderr, "training: %s\n", missing), kNoDevice;
  }
  auto job = esp::Job::init();
  if (!job.ok()) return std::fprintf(stderr, "%s\n", job.error().text.c_str()), 1;
  const esp::TeamRef world = job->world();
  const esp::Team self = world.split({.color = world.rank()}).value();

  Training together(*job, world, on_device ? &driver : nullptr), alone(*job, self, nullptr);
  for (int i = 0; i < kSteps; ++i) together.step();
  for (int i = 0; i < kSteps; ++i) alone.step();

  int wrong = together.same_as(alone) ? 0 : 1;
  world.allreduce_in_place(esp::one(wrong), esp::kSum).check();
  const double first = together.losses().front(), last = together.losses().back();
  if (world.rank() == 0) {
    std::printf(
        "training: %d steps on %d ranks, gradients on the %s: the loss fell from %.6f to "
        "%.6f; losses and weights of %d ranks differ from those of one alone\n",
        kSteps, world.size(), on_device ? "device" : "host", first, last, wrong);
  }
  return wrong == 0 && last < first / 2 ? 0 : 1;
}
