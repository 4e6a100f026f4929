// esp-messages: messages matched by tag, by Espalier's own interface, between two ranks:
//   esp-run -n 2 esp-messages SIZES SECONDS     (measure.h)
// path: data
#include <cstdio>
#include <string>

#include "espalier/tags.h"
#include "messages/measure.h"

namespace {

constexpr std::uint64_t kTag = 7;

// The process's membership in the job; the functions of a `library` have no place for it.
struct Ends {
  esp_job* job = nullptr;
  esp_team* world = nullptr;
  int peer = 0;
};
Ends ends;

void must(esp_status status) {
  if (status == ESP_OK) [[likely]]
    return;
  const std::string text = std::string(esp_status_text(status)) + ": " + esp_team_error(ends.world);
  std::fprintf(stderr, "esp-messages: %s\n", text.c_str());
  esp_abort(ends.job, 1, text.c_str());
}

void send(const void* buffer, std::size_t bytes) {
  must(esp_tag_send(ends.world, buffer, bytes, ESP_BYTE, ends.peer, kTag));
}

void receive(void* buffer, std::size_t bytes) {
  must(esp_tag_recv(ends.world, buffer, bytes, ESP_BYTE, ends.peer, kTag, ESP_TAG_EXACT, nullptr));
}

void send_all(const char* first, std::size_t bytes, std::size_t stride, int count) {
  esp_request* requests[MESSAGES_WINDOW] = {};
  const auto all = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < all; ++i) {
    must(esp_tag_send_start(ends.world, first + i * stride, bytes, ESP_BYTE, ends.peer, kTag,
                            nullptr, &requests[i]));
  }
  must(esp_request_wait_all(requests, all));
}

void receive_all(char* first, std::size_t bytes, std::size_t stride, int count) {
  esp_request* requests[MESSAGES_WINDOW] = {};
  const auto all = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < all; ++i) {
    must(esp_tag_recv_start(ends.world, first + i * stride, bytes, ESP_BYTE, ends.peer, kTag,
                            ESP_TAG_EXACT, nullptr, nullptr, &requests[i]));
  }
  must(esp_request_wait_all(requests, all));
}

}  // namespace

int main(int argc, char** argv) {
  char why[512] = {};
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.error_text = why;
  options.error_text_bytes = sizeof why;
  if (esp_job_init(&options, &ends.job) != ESP_OK) {
    std::fprintf(stderr, "esp-messages: cannot join the job: %s\n", why);
    return 1;
  }
  ends.world = esp_job_world(ends.job);
  const int rank = esp_job_rank(ends.job);
  ends.peer = 1 - rank;
  if (esp_job_size(ends.job) != 2) {
    std::fprintf(stderr, "esp-messages: messages are between two ranks: esp-run -n 2\n");
    return 1;
  }
  const library espalier = {rank, send, receive, send_all, receive_all};
  const int result = measure_messages(&espalier, argc, argv);
  esp_job_finalize(ends.job);
  return result;
}
