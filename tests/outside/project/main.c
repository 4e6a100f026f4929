/* The C API from outside: a sum over all ranks of the job. */
#include <espalier/espalier.h>
#include <stdio.h>

int main(void) {
  char why[256] = "";
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  esp_job* job = NULL;
  int32_t mine = 0, sum = -1;
  esp_status status;

  options.error_text = why;
  options.error_text_bytes = sizeof why;
  status = esp_job_init(&options, &job);
  if (status != ESP_OK) {
    fprintf(stderr, "esp_job_init: %s: %s\n", esp_status_text(status), why);
    return 1;
  }
  mine = esp_job_rank(job) + 1;
  status = esp_allreduce(esp_job_world(job), &mine, &sum, 1, ESP_INT32, ESP_SUM);
  printf("rank %d of %d: sum %d\n", esp_job_rank(job), esp_job_size(job), (int)sum);
  if (status != ESP_OK || sum != esp_job_size(job) * (esp_job_size(job) + 1) / 2) return 1;
  return esp_job_finalize(job) == ESP_OK ? 0 : 1;
}
