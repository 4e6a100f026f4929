/* Espalier, the public C API: types whose elements lie apart: an element of the type that is made
 * is several blocks of elements of `type`, a built-in one. Every collective takes them: the rows of
 * a column block, the faces of a cube go as they lie in memory. Reductions combine block by block;
 * what lies between blocks is not touched. On the other side the same elements may lie otherwise,
 * or without gaps: members must agree in what a call moves, count times blocks of elements of the
 * built-in type, alone. Such a call packs what it sends and unpacks what it gets, a copy each.
 *
 * `extent`: elements of `type` from the beginning of one element to that of the next; 0: as far as
 * the last block reaches. Local. ESP_ERR_ARGUMENT for elements of nothing, and of more than 2^47
 * bytes. Blocks of an element that overlap each other can be sent, and not received
 * (ESP_ERR_ARGUMENT); that elements, or displaced blocks, do not overlap is the caller's to see to.
 */
#ifndef ESPALIER_LAYOUTS_H
#define ESPALIER_LAYOUTS_H

#include "espalier/espalier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `blocks` blocks of `length`, which begin `stride` apart. */
ESP_API esp_status esp_type_strided(esp_job* job, esp_type type, size_t blocks, size_t length,
                                    size_t stride, size_t extent, esp_type* made);
/* Block i has lengths[i] elements and begins displs[i] after the beginning. The arrays are copied.
 */
ESP_API esp_status esp_type_blocks(esp_job* job, esp_type type, size_t blocks,
                                   const size_t* lengths, const size_t* displs, size_t extent,
                                   esp_type* made);
/* Of one that was made. ESP_ERR_STATE while operations under way or persistent requests of this
 * rank use it. */
ESP_API esp_status esp_type_free(esp_job* job, esp_type type);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_LAYOUTS_H */
