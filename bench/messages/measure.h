/* measure: how long messages between two processes take, whatever library moves them. Buffers,
 * clock, batches and checks are the same for all; a library is four functions.
 *
 * Each process has a ring of about 1 MiB of buffers for each direction (four buffers from 256 KiB
 * up), and a batch of messages uses each of them once at most: what is sent has just been written,
 * what is received has not been read. Batches double in a warm-up until the ring is full or they
 * take a tenth of a cell's time; then they follow until that time is over, and the median counts.
 * After the last one every byte is checked.
 * Ownership: the rings, while it measures. Threads: one. path: data
 */
#ifndef BENCH_MESSAGES_MEASURE_H
#define BENCH_MESSAGES_MEASURE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most messages that are under way at a time. */
enum { MESSAGES_WINDOW = 64 };

/* Each function ends the process when the library fails. */
struct library {
  int rank; /* 0 asks and measures, 1 answers */
  void (*send)(const void* buffer, size_t bytes);
  void (*receive)(void* buffer, size_t bytes);
  /* `count` messages, `stride` bytes apart: all of them are started, then all are waited for. */
  void (*send_all)(const char* first, size_t bytes, size_t stride, int count);
  void (*receive_all)(char* first, size_t bytes, size_t stride, int count);
};

/* Arguments: SIZES SECONDS. Sizes as 8,64,4096; seconds of a cell, of which each size has two. Rank
 * 0 prints a line for each: "latency", bytes, us of half a round trip; or "stream", bytes, us for
 * one of many messages in one direction. The exit code: 1 when bytes came wrong, 2 when there are
 * other arguments. */
int measure_messages(const struct library* library, int argc, char** argv);

#ifdef __cplusplus
}
#endif

#endif /* BENCH_MESSAGES_MEASURE_H */
