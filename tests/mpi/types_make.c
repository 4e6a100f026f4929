/* types_make: derived datatypes, as one C program that knows nothing but <mpi.h>: sizes, bounds,
 * and what they pack, of types made at random beside a naive interpreter; see conformance.c. Any
 * number of processes, each with types of its own.
 */
#include "types_model.h"

static Model predefined(void) {
  switch (random_below(4)) {
    case 0:
      return model_of(MPI_CHAR, 1);
    case 1:
      return model_of(MPI_SHORT, 2);
    case 2:
      return model_of(MPI_DOUBLE, 8);
    default:
      return model_of(MPI_INT, 4);
  }
}

static Model made_of(const Model* one, const Model* other) {
  const long extent = model_extent(one);
  switch (random_below(12)) {
    case 0:
      return contiguous_of(one, (int)random_below(6));
    case 1:
      return vector_of(one, 1 + (int)random_below(5), 1, 2 + (int)random_below(3), 0);
    case 2:
      return vector_of(one, (int)random_below(5), 3, (int)random_below(9) - 4, 1);
    case 3:
      return vector_of(one, 1 + (int)random_below(4), (int)random_below(4), 4, 0);
    case 4:
      return struct_of(one, other);
    case 5:
      return resized_of(one, 8 * (random_below(3) - 1), extent + 8 * random_below(3));
    case 6:
      return subarray_of(one, MPI_ORDER_C);
    case 7:
      return subarray_of(one, MPI_ORDER_FORTRAN);
    default:
      return blocks_of(one, (int)random_below(6), (int)random_below(4));
  }
}

static char buffer[2 * kReach], expected[2 * kReach];
static char packed[4 * kEntriesMax * 8], naive[4 * kEntriesMax * 8];

/* A type's packing and the inverse, of `count` elements. */
static void compare(const Model* m, int count) {
  for (long i = 0; i < 2 * kReach; ++i) buffer[i] = (char)random_below(256);
  const long bytes = model_pack(m, buffer + kReach, count, naive);
  int at = 0, room = 0;
  CHECK_OK(MPI_Pack_size(count, m->type, MPI_COMM_SELF, &room));
  CHECK(room >= bytes);
  CHECK_OK(
      MPI_Pack(buffer + kReach, count, m->type, packed, (int)sizeof packed, &at, MPI_COMM_SELF));
  CHECK(!kOurs || at == bytes);
  CHECK(at == bytes && memcmp(packed, naive, (size_t)bytes) == 0);
  if (model_overlaps(m, count)) return;
  memset(buffer, 0x55, sizeof buffer);
  memset(expected, 0x55, sizeof expected);
  model_unpack(m, expected + kReach, count, naive);
  at = 0;
  CHECK_OK(MPI_Unpack(packed, (int)bytes, &at, buffer + kReach, count, m->type, MPI_COMM_SELF));
  CHECK(at == bytes && memcmp(buffer, expected, sizeof buffer) == 0);
}

static void check_model(Model* m) {
  int bytes;
  long low, high;
  MPI_Aint lb, extent;
  CHECK_OK(MPI_Type_size(m->type, &bytes));
  CHECK(bytes == model_size(m));
  model_bounds(m, &low, &high);
  CHECK_OK(MPI_Type_get_true_extent(m->type, &lb, &extent));
  /* MPICH counts blocks of no elements, Open MPI mistakes what overlaps itself. */
  CHECK(!kOurs || m->entries == 0 || (lb == low && extent == high - low));
  if (!kOurs && model_overlaps(m, 3)) return;
  CHECK_OK(MPI_Type_commit(&m->type));
  compare(m, 1);
  compare(m, 3);
  if (!kOurs) return; /* others set elements of predefined types alone */
  MPI_Status status;
  const int some = m->entries > 0 ? (int)random_below(2 * m->entries) : 0;
  int found = -1;
  CHECK_OK(MPI_Status_set_elements(&status, m->type, some));
  CHECK_OK(MPI_Get_elements(&status, m->type, &found));
  CHECK(found == some);
  CHECK_OK(MPI_Get_count(&status, m->type, &found));
  const int whole = m->entries == 0 || some % m->entries == 0;
  if (m->entries > 0) CHECK(found == (whole ? some / (int)m->entries : MPI_UNDEFINED));
}

/* A type of types of types, whose makers are freed before it is used. */
static void made_at_random(int depth) {
  Model one = predefined(), other = predefined();
  for (int i = 0; i < depth; ++i) {
    Model next = made_of(&one, &other);
    model_settle(&next);
    if (!model_is_handy(&next)) {
      model_free(&next);
      break;
    }
    model_free(&other);
    other = one;
    one = next;
  }
  model_free(&other);
  if (one.is_derived) check_model(&one);
  model_free(&one);
}

/* ---- corners ---- */

static void bounds(void) {
  MPI_Datatype padded, many, row;
  MPI_Aint lb, extent;
  int bytes;
  const int ones[] = {1, 1};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
  CHECK_OK(MPI_Type_create_struct(2, ones, places, types, &padded));
  CHECK_OK(MPI_Type_get_extent(padded, &lb, &extent));
  CHECK(lb == 0 && extent == 16);
  CHECK_OK(MPI_Type_get_true_extent(padded, &lb, &extent));
  CHECK(lb == 0 && extent == 9);
  CHECK_OK(MPI_Type_contiguous(3, padded, &many));
  CHECK_OK(MPI_Type_get_true_extent(many, &lb, &extent));
  CHECK(extent == 41);
  CHECK_OK(MPI_Type_get_extent(many, &lb, &extent));
  CHECK(extent == 48);
  CHECK_OK(MPI_Type_size(many, &bytes));
  CHECK(bytes == 27);
  /* What was set inside stays set. */
  CHECK_OK(MPI_Type_create_resized(MPI_INT, -4, 16, &row));
  MPI_Datatype rows;
  CHECK_OK(MPI_Type_contiguous(2, row, &rows));
  CHECK_OK(MPI_Type_get_extent(rows, &lb, &extent));
  CHECK(lb == -4 && extent == 32);
  MPI_Type_free(&padded);
  MPI_Type_free(&many);
  MPI_Type_free(&row);
  CHECK_OK(MPI_Type_free(&rows));
  CHECK(rows == MPI_DATATYPE_NULL);
}

/* Of 2^31 - 1 vectors of a million blocks: neither takes memory, or time. */
static void large(void) {
  MPI_Datatype vector, many;
  MPI_Count bytes, lb, extent;
  CHECK_OK(MPI_Type_vector(1000000, 1, 2, MPI_INT, &vector));
  CHECK_OK(MPI_Type_contiguous(2147483647, vector, &many));
  CHECK_OK(MPI_Type_size_x(many, &bytes));
  CHECK(bytes == 2147483647ll * 4000000);
  CHECK_OK(MPI_Type_get_extent_x(many, &lb, &extent));
  CHECK(lb == 0 && extent == 2147483647ll * 7999996);
  int narrow;
  CHECK_OK(MPI_Type_size(many, &narrow));
  CHECK(narrow == MPI_UNDEFINED);
  MPI_Datatype again;
  if (kOurs) { /* others do not look */
    CHECK_CLASS(MPI_Type_contiguous(2147483647, many, &again), MPI_ERR_COUNT);
  }
  CHECK_OK(MPI_Type_free(&vector));
  CHECK_OK(MPI_Type_free(&many));
}

/* Everybody's parts of an array are all of it, each element once. */
static void distributed(const int distributions[2], const int arguments[2], int order) {
  const int sizes[] = {7, 10}, grid[] = {2, 3};
  int owner[70];
  for (int i = 0; i < 70; ++i) owner[i] = -1;
  for (int p = 0; p < 6; ++p) {
    MPI_Datatype part;
    CHECK_OK(MPI_Type_create_darray(6, p, 2, sizes, distributions, arguments, grid, order, MPI_INT,
                                    &part));
    MPI_Aint lb, extent;
    CHECK_OK(MPI_Type_get_extent(part, &lb, &extent));
    CHECK(lb == 0 && extent == 280);
    CHECK_OK(MPI_Type_commit(&part));
    int bytes, at = 0, indices[70], mine[70];
    CHECK_OK(MPI_Type_size(part, &bytes));
    for (int i = 0; i < 70; ++i) indices[i] = i;
    CHECK_OK(MPI_Pack(indices, 1, part, mine, 280, &at, MPI_COMM_SELF));
    CHECK(at == bytes);
    for (int i = 0; i < bytes / 4; ++i) {
      const int index = mine[i];
      const int row = order == MPI_ORDER_C ? index / 10 : index % 7;
      const int column = order == MPI_ORDER_C ? index % 10 : index / 7;
      const int position[] = {row, column};
      int expected_owner = 0;
      for (int d = 0; d < 2; ++d) {
        const int fair =
            distributions[d] == MPI_DISTRIBUTE_BLOCK ? (sizes[d] + grid[d] - 1) / grid[d] : 1;
        const int block = arguments[d] == MPI_DISTRIBUTE_DFLT_DARG ? fair : arguments[d];
        expected_owner = expected_owner * grid[d] + position[d] / block % grid[d];
      }
      CHECK(owner[index] == -1 && expected_owner == p);
      CHECK(i == 0 || mine[i - 1] < index);
      owner[index] = p;
    }
    CHECK_OK(MPI_Type_free(&part));
  }
  for (int i = 0; i < 70; ++i) CHECK(owner[i] >= 0);
}

static void arrays(void) {
  const int any = MPI_DISTRIBUTE_DFLT_DARG;
  const int block = MPI_DISTRIBUTE_BLOCK, cyclic = MPI_DISTRIBUTE_CYCLIC;
  for (int order = 0; order < 2; ++order) {
    const int of = order == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    distributed((int[]){block, block}, (int[]){any, any}, of);
    distributed((int[]){cyclic, block}, (int[]){any, 5}, of);
    distributed((int[]){cyclic, cyclic}, (int[]){3, 2}, of);
    distributed((int[]){block, cyclic}, (int[]){4, any}, of);
  }
}

static void addresses(void) {
  int here[4] = {0};
  MPI_Aint first, third;
  CHECK_OK(MPI_Get_address(&here[0], &first));
  CHECK_OK(MPI_Get_address(&here[2], &third));
  CHECK(MPI_Aint_diff(third, first) == 8 && MPI_Aint_add(first, 8) == third);
  /* Absolute ones, packed from MPI_BOTTOM. */
  const MPI_Aint both[] = {third, first};
  MPI_Datatype absolute;
  CHECK_OK(MPI_Type_create_hindexed_block(2, 1, both, MPI_INT, &absolute));
  CHECK_OK(MPI_Type_commit(&absolute));
  for (int i = 0; i < 4; ++i) here[i] = 10 + i;
  int there[2] = {0, 0}, at = 0;
  if (kMpich) { /* which takes MPI_BOTTOM for a null buffer */
    CHECK_OK(MPI_Type_free(&absolute));
    return;
  }
  CHECK_OK(MPI_Pack(MPI_BOTTOM, 1, absolute, there, 8, &at, MPI_COMM_SELF));
  CHECK(there[0] == 12 && there[1] == 10);
  CHECK_OK(MPI_Type_free(&absolute));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return_errors();
  random_state = 77 + (unsigned long long)rank;
  for (int i = 0; i < 150; ++i) made_at_random(1 + i % 4);
  bounds();
  large();
  arrays();
  addresses();
  return conclude();
}
