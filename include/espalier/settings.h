/* Espalier, the public C API: the settings of the library, for tools that list them. espalier.h
 * includes it, and says what holds for all. docs/configuration.md explains each.
 */
#ifndef ESPALIER_SETTINGS_H
#define ESPALIER_SETTINGS_H

#include "espalier/espalier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Static storage. */
typedef struct esp_setting {
  const char* name; /* without the prefix ESPALIER_ of its variable */
  const char* unit; /* empty: none */
  const char* doc;
} esp_setting;
/* Fills up to `capacity` entries and returns how many settings there are. */
ESP_API size_t esp_settings(esp_setting* settings, size_t capacity);
/* Writes the value that a setting has in a job, as one would write it, into `text` (always
 * terminated), and returns the bytes needed; 0: there is no such setting. Without a job (NULL):
 * what the environment says now, or the default where that is no value. */
ESP_API size_t esp_setting_value(const esp_job* job, size_t setting, char* text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_SETTINGS_H */
