/* limits_probe works|no-memory|either|config [BYTES]: one rank of a job that meets a limit of the
 * system. Prints "OK ..." when it went as the first argument says, "BAD ..." when not: either
 * everything works, with right results, or esp_job_init answers ESP_ERR_NO_MEMORY and says what to
 * do; or, where the ranks have different settings, ESP_ERR_CONFIG. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "espalier/espalier.h"

static int fail(const char* what, const char* text) {
  printf("BAD %s: %s\n", what, text);
  return 1;
}

/* A broadcast from every rank and a sum; 0 when all elements are right. */
static int wrong(esp_job* job, size_t bytes) {
  esp_team* world = esp_job_world(job);
  const int rank = esp_team_rank(world), size = esp_team_size(world);
  const size_t count = bytes / sizeof(long long);
  long long* data = malloc(bytes + 8);
  int bad = data == NULL;
  for (int root = 0; root < size && !bad; ++root) {
    for (size_t i = 0; i < count; ++i) data[i] = rank == root ? (long long)i + root : -1;
    bad = esp_bcast(world, data, count, ESP_INT64, root) != ESP_OK;
    for (size_t i = 0; i < count && !bad; ++i) bad = data[i] != (long long)i + root;
  }
  long long sum = 0, one = rank + 1;
  bad = bad || esp_allreduce(world, &one, &sum, 1, ESP_INT64, ESP_SUM) != ESP_OK ||
        sum != (long long)size * (size + 1) / 2;
  free(data);
  return bad;
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc < 2) return 2;
  char text[1024] = "";
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.error_text = text;
  options.error_text_bytes = sizeof text;
  esp_job* job = NULL;
  const esp_status status = esp_job_init(&options, &job);
  if (status != ESP_OK) {
    if (strcmp(argv[1], "works") == 0) return fail("init", text);
    if (strcmp(argv[1], "config") == 0 && status == ESP_ERR_CONFIG) {
      printf("OK refused: %s\n", text);
      return 0;
    }
    if (status != ESP_ERR_NO_MEMORY) return fail(esp_status_text(status), text);
    if (strstr(text, "limit") == NULL && strstr(text, "open files") == NULL) {
      return fail("text without help", text);
    }
    printf("OK refused: %s\n", text);
    return 0;
  }
  if (strcmp(argv[1], "no-memory") == 0 || strcmp(argv[1], "config") == 0) {
    return fail("init", "succeeded");
  }
  const size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 6u << 20;
  const int bad = wrong(job, bytes);
  if (esp_job_finalize(job) != ESP_OK || bad) return fail("results", "wrong");
  printf("OK works\n");
  return 0;
}
