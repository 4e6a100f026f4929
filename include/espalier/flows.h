/* Espalier, the public C API: messages between two members of a team. espalier.h includes it, and
 * says what holds for all.
 */
#ifndef ESPALIER_FLOWS_H
#define ESPALIER_FLOWS_H

#include "espalier/espalier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Point-to-point flows: the k-th send on (team, channel) to a peer meets the peer's k-th receive on
 * the same channel from here. No tags, no wildcards. Sizes must be equal, else the receive fails
 * with ESP_ERR_MISMATCH, and the team with it. channel < 256. Peers differ from the caller.
 *
 * esp_send may wait until the peer receives. Today it does inside a node above 1 MiB, and below
 * when there is no room left to copy the message to or the receiver is to read it in place; between
 * nodes when the network has no room for it, and over RDMA connections when the message lies in
 * registered memory and has RDMA_PULL_BYTES and more. Two ranks that first send to each other and
 * then receive may therefore wait for ever (until the configured timeout): exchange with
 * esp_send_start or esp_recv_start. */
ESP_API esp_status esp_send(esp_team* team, const void* buffer, size_t bytes, int peer,
                            unsigned channel);
ESP_API esp_status esp_recv(esp_team* team, void* buffer, size_t bytes, int peer, unsigned channel);
ESP_API esp_status esp_send_start(esp_team* team, const void* buffer, size_t bytes, int peer,
                                  unsigned channel, const esp_notify* notify,
                                  esp_request** request);
ESP_API esp_status esp_recv_start(esp_team* team, void* buffer, size_t bytes, int peer,
                                  unsigned channel, const esp_notify* notify,
                                  esp_request** request);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_FLOWS_H */
