/* Espalier, the public C API: for programs that wait in an event loop of their own, or that have
 * something else to drive while they wait here. espalier.h includes it, and says what holds for
 * all. */
#ifndef ESPALIER_EVENT_LOOP_H
#define ESPALIER_EVENT_LOOP_H

#include "espalier/espalier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For a runtime that sleeps in an event loop of its own: a descriptor that becomes readable when
 * the job has something to do, -1 on failure (esp_job_error). It belongs to the job; only wait for
 * it. Owner mode only. */
ESP_API int esp_job_fd(esp_job* job);
/* Before each sleep: arms the descriptor and looks once more. Returns the number of events handled;
 * 0 means that the caller may sleep until the descriptor is readable, and then calls esp_progress,
 * which disarms it. Sleep at most 0.1 s at a time while operations are under way: death and
 * lateness of other ranks ring no bell. Negative on failure, and inside callbacks. */
ESP_API int esp_job_arm(esp_job* job);

/* Local, for a loop of one's own that waits for what others do without an operation of this rank,
 * as for active messages: ESP_OK, or how a rank of the job was lost, of several the lowest, which
 * esp_job_error names. ESP_ERR_PEER_DIED: it ended, or was given up for its silence;
 * ESP_ERR_NETWORK: it cannot be reached any more. One that has left by esp_job_finalize is not
 * lost. Says what this rank knows: progress brings the news, of ranks on other nodes only about
 * those that it has exchanged something with, unless the launcher tells of deaths. Looks at every
 * rank, with a system call for each of this node: a few times a second is often enough. */
ESP_API esp_status esp_job_check(esp_job* job);

/* What else a thread of this rank drives while it waits inside a call of the library, such as the
 * progress of another communication library. Returns how many events it has handled; 0: it has
 * found nothing. */
typedef int (*esp_idle_function)(void* context);
/* Local; NULL takes it away. It is called by the thread that waits, when it has found nothing for a
 * short while (not on the way of operations that find what they need), then at least every
 * millisecond, and as long as it returns more than 0 the thread does not sleep. With
 * ESP_THREAD_PROGRESS several threads may be in it at once. Must not call the library. Set it while
 * no other thread is inside a call. */
ESP_API esp_status esp_job_set_idle(esp_job* job, esp_idle_function function, void* context);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_EVENT_LOOP_H */
