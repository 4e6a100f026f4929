/* Espalier, the public C API: messages that are matched by source and tag. espalier.h includes it,
 * and says what holds for all.
 *
 * A receive names a team, a member of it or ESP_ANY_SOURCE, a tag and which bits of it count
 * (`mask`; 0: any tag). A message meets the earliest posted receive that it fits; a receive meets
 * the earliest message that fits. Two messages from one member to another on one team that fit the
 * same receive are matched in the order of their sending. Matching costs the same however many
 * messages and receives wait, unless there are receives with ESP_ANY_SOURCE or a partial mask: a
 * message is compared with those that were posted before its own, and such a receive with the
 * messages that wait on its team. Tags are the caller's, all 64 bits. Peers may be the caller.
 *
 * Messages of up to TAG_EAGER_BYTES are sent at once, and wait at the receiver, copied, when their
 * receive is late: TAG_WINDOW_BYTES from each sender at most, and when all of them are more than
 * TAG_UNEXPECTED_BYTES no new ones. Others, and those that find no window, tell of themselves (one
 * short message) and wait at the sender. So esp_tag_send may wait until the other side receives:
 * who sends to each other does it with esp_tag_send_start.
 *
 * `count` elements of `type` on each side, of whatever types: bytes are what is moved. Elements
 * that lie apart (layouts.h) are packed and unpacked, a copy each. A message that is longer than
 * its receive fills that and gives it ESP_ERR_TRUNCATED; the sender does not hear of it.
 *
 * Either buffer may be memory of a device (GPU): docs/devices.md. What is started from such memory
 * waits at the sender however short it is.
 *
 * A receive from a member that has died, or from any when a member has, ends with
 * ESP_ERR_PEER_DIED, one that is waited for and whose source has gone to finalize with
 * ESP_ERR_MISMATCH; the team stays whole in both cases. A send that waits for its receive longer
 * than TIMEOUT fails the team. On a team that has failed all of them end.
 */
#ifndef ESPALIER_TAGS_H
#define ESPALIER_TAGS_H

#include "espalier/espalier.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ESP_ANY_SOURCE (-1)
#define ESP_TAG_EXACT (~UINT64_C(0)) /* a mask: the whole tag counts */

/* What has been received, or found. */
typedef struct esp_tag_info {
  int source; /* rank in the team */
  uint64_t tag;
  uint64_t bytes; /* of the message; of one that was too long more than has been received */
} esp_tag_info;

/* Complete when the buffer may be used again. The synchronous form: and a receive has been found
 * for it. */
ESP_API esp_status esp_tag_send(esp_team* team, const void* buffer, size_t count, esp_type type,
                                int dest, uint64_t tag);
ESP_API esp_status esp_tag_send_synchronous(esp_team* team, const void* buffer, size_t count,
                                            esp_type type, int dest, uint64_t tag);
/* `info` may be NULL. Of esp_tag_recv_start it is written before the end is reported. */
ESP_API esp_status esp_tag_recv(esp_team* team, void* buffer, size_t count, esp_type type,
                                int source, uint64_t tag, uint64_t mask, esp_tag_info* info);
/* These report as collectives do. */
ESP_API esp_status esp_tag_send_start(esp_team* team, const void* buffer, size_t count,
                                      esp_type type, int dest, uint64_t tag,
                                      const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_tag_send_synchronous_start(esp_team* team, const void* buffer, size_t count,
                                                  esp_type type, int dest, uint64_t tag,
                                                  const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_tag_recv_start(esp_team* team, void* buffer, size_t count, esp_type type,
                                      int source, uint64_t tag, uint64_t mask, esp_tag_info* info,
                                      const esp_notify* notify, esp_request** request);
/* Takes a receive back for which no message has been found: it ends with ESP_ERR_CANCELED, and is
 * waited for as any. No effect on others, and on what has been matched. A handle that was freed by
 * a wait must not be named. */
ESP_API esp_status esp_tag_cancel(esp_request* request);

/* A message that has been taken out of matching, and waits to be received. */
typedef struct esp_tag_message esp_tag_message;

/* Waits for a message, without receiving it. Where `message` is not NULL, no other receive or probe
 * finds it any more, and it must be received by esp_tag_message_recv. Drives progress; not inside
 * callbacks. */
ESP_API esp_status esp_tag_probe(esp_team* team, int source, uint64_t tag, uint64_t mask,
                                 esp_tag_info* info, esp_tag_message** message);
/* The same without waiting: drives progress once if need be. *found = 0: there is none now. */
ESP_API esp_status esp_tag_probe_now(esp_team* team, int source, uint64_t tag, uint64_t mask,
                                     int* found, esp_tag_info* info, esp_tag_message** message);
/* The handle is gone with the call (set to NULL), also when it fails, unless by an argument. */
ESP_API esp_status esp_tag_message_recv(esp_tag_message** message, void* buffer, size_t count,
                                        esp_type type, esp_tag_info* info);
ESP_API esp_status esp_tag_message_recv_start(esp_tag_message** message, void* buffer, size_t count,
                                              esp_type type, esp_tag_info* info,
                                              const esp_notify* notify, esp_request** request);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_TAGS_H */
