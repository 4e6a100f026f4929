/* Every rank says hello; rank 0 broadcasts a number and everybody adds up the ranks.
 * Run: esp-run -n 4 hello_c */
#include <espalier/espalier.h>
#include <stdio.h>

int main(void) {
  char why[256];
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.error_text = why;
  options.error_text_bytes = sizeof why;
  esp_job* job;
  if (esp_job_init(&options, &job) != ESP_OK) return fprintf(stderr, "%s\n", why), 1;

  esp_team* world = esp_job_world(job);
  const int rank = esp_team_rank(world);
  int answer = rank == 0 ? 42 : 0;
  int sum = 0;
  esp_status status = esp_bcast(world, &answer, 1, ESP_INT32, 0);
  if (status == ESP_OK) status = esp_allreduce(world, &rank, &sum, 1, ESP_INT32, ESP_SUM);
  if (status != ESP_OK) return fprintf(stderr, "%s\n", esp_team_error(world)), 1;
  printf("hello from rank %d of %d: answer %d, sum of ranks %d\n", rank, esp_team_size(world),
         answer, sum);
  return esp_job_finalize(job) != ESP_OK;
}
