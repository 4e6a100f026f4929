// The C API used from C++, from outside: a broadcast to all ranks of the job.
#include <espalier/espalier.h>

#include <cstdio>
#include <vector>

int main() {
  esp_job* job = nullptr;
  if (const esp_status status = esp_job_init(nullptr, &job); status != ESP_OK) {
    std::fprintf(stderr, "esp_job_init: %s\n", esp_status_text(status));
    return 1;
  }
  std::vector<double> values(1000, esp_job_rank(job) == 0 ? 2.5 : 0.0);
  const esp_status status =
      esp_bcast(esp_job_world(job), values.data(), values.size(), ESP_DOUBLE, 0);
  std::printf("rank %d of %d: %g\n", esp_job_rank(job), esp_job_size(job), values.back());
  const bool right = status == ESP_OK && values.front() == 2.5 && values.back() == 2.5;
  return esp_job_finalize(job) == ESP_OK && right ? 0 : 1;
}
