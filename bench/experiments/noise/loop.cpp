// esp-noise-loop: the same collective again and again, without anything in between, as the noise
// experiment measures it. Rank 0 prints the time per call: from a barrier to the moment when the
// last rank is done, divided by the calls.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "espalier/espalier.h"

namespace {

struct Options {
  std::string operation = "bcast";
  std::size_t bytes = 4 << 20;
  int calls = 100;
  esp_coll_options collective = ESP_COLL_OPTIONS_INIT;
};

Options parse(int argc, char** argv) {
  const std::map<std::string, esp_shape> shapes = {{"chain", ESP_SHAPE_CHAIN},
                                                   {"binary", ESP_SHAPE_BINARY},
                                                   {"binomial", ESP_SHAPE_BINOMIAL},
                                                   {"flat", ESP_SHAPE_FLAT}};
  const std::map<std::string, esp_variant> variants = {{"event", ESP_VARIANT_EVENT},
                                                       {"waitall", ESP_VARIANT_WAITALL},
                                                       {"blocking", ESP_VARIANT_BLOCKING}};
  Options options;
  options.collective.algorithm = ESP_ALGORITHM_TREE;
  options.collective.shape = ESP_SHAPE_CHAIN;
  CLI::App app("Time per call of a collective that is called again and again.", "esp-noise-loop");
  app.add_option("--op", options.operation)->check(CLI::IsMember({"bcast", "reduce"}));
  app.add_option("--bytes", options.bytes)->transform(CLI::AsSizeValue(false));
  app.add_option("--calls", options.calls)->check(CLI::Range(1, 1'000'000));
  app.add_option("--shape", options.collective.shape)->transform(CLI::CheckedTransformer(shapes));
  app.add_option("--variant", options.collective.variant)
      ->transform(CLI::CheckedTransformer(variants));
  app.add_option("--segment", options.collective.segment_bytes)->transform(CLI::AsSizeValue(false));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  return options;
}

class Loop {
 public:
  explicit Loop(const Options& options)
      : options_(options), count_(options.bytes / sizeof(float)), in_(count_, 1), out_(count_, 1) {
    char text[512] = "";
    esp_job_options job_options = ESP_JOB_OPTIONS_INIT;
    job_options.error_text = text;
    job_options.error_text_bytes = sizeof text;
    if (esp_job_init(&job_options, &job_) != ESP_OK) {
      fmt::print(stderr, "esp-noise-loop: {}\n", text);
      std::exit(1);
    }
    world_ = esp_job_world(job_);
  }
  ~Loop() { esp_job_finalize(job_); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run() {
    call();  // plans, paths, pages
    check(esp_barrier(world_));
    const double begin = esp_time();
    for (int i = 0; i < options_.calls; ++i) call();
    // Ranks that are done early wait here for the last one.
    check(esp_barrier(world_));
    const double seconds = (esp_time() - begin) / options_.calls;
    if (esp_job_rank(job_) == 0) fmt::print("{:.9f}\n", seconds);
  }

 private:
  void call() {
    esp_request* request = nullptr;
    const esp_coll_options* how = &options_.collective;
    if (options_.operation == "bcast") {
      check(esp_bcast_start(world_, out_.data(), count_, ESP_FLOAT, 0, how, nullptr, &request));
    } else {
      check(esp_reduce_start(world_, in_.data(), out_.data(), count_, ESP_FLOAT, ESP_SUM, 0, how,
                             nullptr, &request));
    }
    check(esp_request_wait(&request));
  }
  void check(esp_status status) {
    if (status == ESP_OK) return;
    esp_abort(job_, 1, esp_job_error(job_));
  }

  const Options& options_;
  std::size_t count_;
  std::vector<float> in_, out_;
  esp_job* job_ = nullptr;
  esp_team* world_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Loop loop(options);
  loop.run();
}
