// What settings and counters there are, and their values in a job and without one.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/thread_bootstrap.hpp"

namespace {

std::size_t place_of(std::string_view name) {
  std::vector<esp_setting> settings(esp_settings(nullptr, 0));
  (void)esp_settings(settings.data(), settings.size());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (settings[i].name == name) return i;
  }
  CHECK(false, "there is no setting {}", name);
  return settings.size();
}

std::string value_in(const esp_job* job, std::size_t setting) {
  std::string text(esp_setting_value(job, setting, nullptr, 0), '\0');
  CHECK_EQ(esp_setting_value(job, setting, text.data(), text.size()), text.size(), "{}", setting);
  text.pop_back();
  return text;
}

void of_no_job() {
  const std::size_t timeout = place_of("TIMEOUT");
  (void)setenv("ESPALIER_TIMEOUT", "77", 1);
  CHECK_EQ(value_in(nullptr, timeout), "77", "of the environment");
  (void)setenv("ESPALIER_TIMEOUT", "long", 1);
  CHECK_EQ(value_in(nullptr, timeout), "3600", "the default");
  (void)unsetenv("ESPALIER_TIMEOUT");
  char text[3] = "..";
  CHECK_EQ(esp_setting_value(nullptr, timeout, text, sizeof text), std::size_t{5}, "cut off");
  CHECK_EQ(std::string_view(text), "36", "cut off");
  CHECK_EQ(esp_setting_value(nullptr, 1000, text, sizeof text), std::size_t{0}, "none");
  std::vector<esp_counter_value> counters(esp_counters(nullptr, nullptr, 0));
  (void)esp_counters(nullptr, counters.data(), counters.size());
  for (const esp_counter_value& one : counters)
    CHECK_EQ(one.value, std::uint64_t{0}, "{}", one.name);
}

void of_a_job() {
  const char* const settings[] = {"TIMEOUT=88", "SPIN_US=3", nullptr};
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.settings = settings;
  test::Meeting meeting(1);
  const esp_bootstrap bootstrap = meeting.of(0);
  options.bootstrap = &bootstrap;
  esp_job* job = nullptr;
  CHECK_EQ(esp_job_init(&options, &job), ESP_OK, "init");
  if (job == nullptr) return;
  CHECK_EQ(value_in(job, place_of("TIMEOUT")), "88", "of the job");
  CHECK_EQ(value_in(job, place_of("SPIN_US")), "3", "of the job");
  CHECK_EQ(value_in(job, place_of("TAG_EAGER_BYTES")), "32K", "the default");
  CHECK_EQ(esp_job_finalize(job), ESP_OK, "finalize");
}

}  // namespace

int main() {
  of_no_job();
  of_a_job();
  fmt::print("{} checks, {} failures\n", test::g_checks.load(), test::g_failures.load());
  return test::g_failures.load() == 0 && test::g_checks.load() > 30 ? 0 : 1;
}
