/* type_ranges: packing in parts, which the facade does inside alone: any parts of a packed stream,
 * one after the other or by themselves, are those of the whole. Built of the facade's sources.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/datatype.h"

enum { kBytes = 8192, kCount = 3 };

static int failures;
static char memory[kBytes], whole[kBytes], parts[kBytes], back[kBytes];

static void check(int line, int holds) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "FAILED line %d\n", line);
}
#define CHECK(condition) check(__LINE__, condition)

static void in_pieces_of(const Datatype* type, size_t bytes, size_t piece) {
  memset(parts, 0, sizeof parts);
  memset(back, 0x11, sizeof back);
  for (size_t at = 0; at < bytes; at += piece) {
    const size_t n = bytes - at < piece ? bytes - at : piece;
    type_pack(type, memory + kBytes / 2, kCount, at, n, parts + at);
  }
  CHECK(memcmp(parts, whole, bytes) == 0);
  /* The last first: order does not matter. */
  for (size_t end = bytes; end > 0;) {
    const size_t n = end < piece ? end : piece;
    end -= n;
    type_unpack(type, back + kBytes / 2, kCount, end, n, whole + end);
  }
  type_pack(type, back + kBytes / 2, kCount, 0, bytes, parts);
  CHECK(memcmp(parts, whole, bytes) == 0);
}

static void try_all(MPI_Datatype handle) {
  const Datatype* type = datatype_of(handle);
  const size_t bytes = type->size * kCount;
  type_pack(type, memory + kBytes / 2, kCount, 0, bytes, whole);
  for (size_t piece = 1; piece <= bytes; piece += piece < 20 ? 1 : 13) {
    in_pieces_of(type, bytes, piece);
  }
  MPI_Type_free(&handle);
}

/* What a buffer is for the library: in one piece, of a type of its own, or to be packed. */
static void payloads(void) {
  Payload payload;
  const char* problem = NULL;
  MPI_Datatype column, reversed;
  int numbers[16] = {0};
  CHECK(type_payload(MPI_INT, numbers, 5, &payload, &problem) == MPI_SUCCESS);
  CHECK(payload.form == kPayloadBytes && payload.base == numbers && payload.bytes == 20);
  MPI_Type_vector(4, 1, 4, MPI_INT, &column);
  CHECK(type_payload(column, numbers, 1, &payload, &problem) == MPI_ERR_TYPE);
  MPI_Type_commit(&column);
  CHECK(type_payload(column, numbers, 1, &payload, &problem) == MPI_SUCCESS);
  CHECK(payload.form == kPayloadLayout && payload.count == 1 && payload.bytes == 16);
  CHECK(type_payload(column, NULL, 1, &payload, &problem) == MPI_ERR_BUFFER && problem != NULL);
  CHECK(type_payload(column, NULL, 0, &payload, &problem) == MPI_SUCCESS && payload.bytes == 0);
  CHECK(type_payload(column, numbers, -1, &payload, &problem) == MPI_ERR_COUNT);
  CHECK(type_payload(MPI_DATATYPE_NULL, numbers, 1, &payload, &problem) == MPI_ERR_TYPE);
  MPI_Type_vector(4, 1, -4, MPI_INT, &reversed);
  MPI_Type_commit(&reversed);
  CHECK(type_payload(reversed, numbers + 12, 1, &payload, &problem) == MPI_SUCCESS);
  CHECK(payload.form == kPayloadPacked && payload.base == numbers + 12 && payload.bytes == 16);
  MPI_Type_free(&column);
  MPI_Type_free(&reversed);
}

/* Regular types are few runs, however many blocks they have. */
static void sizes(void) {
  MPI_Datatype vector, cube, listed;
  int displs[100];
  for (int i = 0; i < 100; ++i) displs[i] = 3 * i;
  MPI_Type_vector(1000000, 2, 5, MPI_DOUBLE, &vector);
  CHECK(datatype_of(vector)->run_count == 1 && datatype_of(vector)->part_count == 1);
  MPI_Type_create_indexed_block(100, 1, displs, MPI_INT, &listed);
  CHECK(datatype_of(listed)->run_count == 1 && datatype_of(listed)->runs->count == 100);
  const int all[] = {900, 900, 900}, some[] = {800, 800, 900}, begin[] = {50, 50, 0};
  MPI_Type_create_subarray(3, all, some, begin, MPI_ORDER_C, MPI_INT, &cube);
  CHECK(datatype_of(cube)->run_count == 1);
  MPI_Type_free(&vector);
  MPI_Type_free(&cube);
  MPI_Type_free(&listed);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < kBytes; ++i) memory[i] = (char)(i * 37 + i / 256);
  MPI_Datatype made, inner, rows;
  const int lengths[] = {2, 1, 3}, displs[] = {4, 0, 9};
  const MPI_Aint places[] = {0, 40, 96};
  MPI_Type_contiguous(7, MPI_INT, &made);
  try_all(made);
  MPI_Type_vector(5, 3, 4, MPI_SHORT, &made);
  try_all(made);
  MPI_Type_indexed(3, lengths, displs, MPI_INT, &inner);
  MPI_Type_vector(3, 1, 2, inner, &rows);
  const MPI_Datatype types[] = {MPI_DOUBLE, inner, rows};
  MPI_Type_create_struct(3, lengths, places, types, &made);
  try_all(made);
  MPI_Type_create_hvector(4, 2, -100, inner, &made);
  try_all(made);
  MPI_Type_free(&inner);
  MPI_Type_free(&rows);
  payloads();
  sizes();
  printf("%d failures\n", failures);
  MPI_Finalize();
  return failures != 0;
}
