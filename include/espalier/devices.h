/* Espalier, the public C API: memory of devices (GPUs), for libraries above this one whose callers
 * may pass either. Buffers of any operation may be a device's without any of this, but for what
 * docs/devices.md lists.
 */
#ifndef ESPALIER_DEVICES_H
#define ESPALIER_DEVICES_H

#include "espalier/espalier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 1: memory of a device, which the processor cannot reach. Local; without a loaded driver it is one
 * look, and 0. */
ESP_API int esp_memory_is_device(esp_job* job, const void* at);
/* Copies between any two places, which do not overlap, and waits for it. What is to be read must
 * have been written: a stream of the program's is not waited for. Local; not in callbacks.
 * ESP_ERR_DEVICE, with the driver's text, where the driver fails. */
ESP_API esp_status esp_memory_copy(esp_job* job, void* to, const void* from, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_DEVICES_H */
