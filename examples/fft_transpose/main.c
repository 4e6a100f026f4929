/* The Fourier transform of a square, for any MPI library.
 *
 * Each rank has some rows. It transforms these, all ranks exchange blocks so that columns become
 * rows, and it transforms again. The exchange is one MPI_Alltoall: the datatype of what is sent
 * cuts a block out of the rows, and the datatype of what is received turns it over on the way in,
 * so nothing is packed by hand. Transformed twice like this the square lies transposed; the inverse
 * transform transposes it back. Two waves go in, whose transform is known: two points, and zero
 * elsewhere; and the inverse must give the waves back.
 * Build: mpicc main.c -o fft_transpose -lm; run: mpirun -n 4 ./fft_transpose
 */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef double complex Complex;

enum { kSide = 96 }; /* of the square; the number of ranks must divide it */

typedef struct Wave {
  int row, column; /* frequencies */
  double height;
} Wave;
static const Wave kWaves[2] = {{3, 5, 1.0}, {80, 17, 0.5}};

static int rank, size, rows; /* rows that each rank has */

static Complex unit(double turns) {
  const double angle = 2 * acos(-1) * turns;
  return cos(angle) + I * sin(angle);
}

/* out = the transform of in[0], in[stride], in[2 * stride]... `count` of them. By its smallest
 * factor a sum is split into as many shorter ones, which are transformed first. direction: -1
 * forward, 1 inverse. */
static void transform(const Complex* in, int stride, Complex* out, int count, int direction) {
  int factor = 2;
  while (factor < count && count % factor != 0) ++factor;
  const int part = count / factor;
  if (count == 1) {
    out[0] = in[0];
    return;
  }
  for (int f = 0; f < factor; ++f) {
    transform(in + f * stride, factor * stride, out + f * part, part, direction);
  }
  for (int k = 0; k < part; ++k) {
    Complex terms[kSide];
    for (int f = 0; f < factor; ++f) terms[f] = out[f * part + k];
    for (int j = 0; j < factor; ++j) {
      Complex sum = 0;
      for (int f = 0; f < factor; ++f) {
        sum += terms[f] * unit((double)direction * f * (k + j * part) / count);
      }
      out[j * part + k] = sum;
    }
  }
}

static void transform_rows(Complex* square, int direction) {
  Complex row[kSide];
  for (int i = 0; i < rows; ++i) {
    transform(&square[i * kSide], 1, row, kSide, direction);
    for (int j = 0; j < kSide; ++j) square[i * kSide + j] = row[j];
  }
}

/* Makes a type whose next element begins `columns` further on in the same row, and frees the old
 * one. */
static MPI_Datatype every(MPI_Datatype type, int columns) {
  MPI_Datatype resized;
  MPI_Type_create_resized(type, 0, columns * (MPI_Aint)sizeof(Complex), &resized);
  MPI_Type_free(&type);
  return resized;
}

/* The block of a rank in the rows of another: row by row as it lies, and column by column. */
static void make_types(MPI_Datatype* block, MPI_Datatype* turned) {
  MPI_Datatype column;
  MPI_Type_vector(rows, rows, kSide, MPI_C_DOUBLE_COMPLEX, block);
  *block = every(*block, rows);
  MPI_Type_vector(rows, 1, kSide, MPI_C_DOUBLE_COMPLEX, &column);
  column = every(column, 1);
  MPI_Type_contiguous(rows, column, turned);
  *turned = every(*turned, rows);
  MPI_Type_free(&column);
  MPI_Type_commit(block);
  MPI_Type_commit(turned);
}

/* Both dimensions; `to` is the result, transposed, and `from` is overwritten. */
static void transform_square(Complex* from, Complex* to, int direction) {
  MPI_Datatype block, turned;
  make_types(&block, &turned);
  transform_rows(from, direction);
  MPI_Alltoall(from, 1, block, to, 1, turned, MPI_COMM_WORLD);
  transform_rows(to, direction);
  MPI_Type_free(&block);
  MPI_Type_free(&turned);
}

/* The waves. */
static Complex input_at(int row, int column) {
  Complex sum = 0;
  for (int w = 0; w < 2; ++w) {
    const int turns = (row * kWaves[w].row + column * kWaves[w].column) % kSide;
    sum += kWaves[w].height * unit((double)turns / kSide);
  }
  return sum;
}

/* Their transform. */
static Complex output_at(int row, int column) {
  for (int w = 0; w < 2; ++w) {
    if (row == kWaves[w].row && column == kWaves[w].column) {
      return kWaves[w].height * kSide * kSide;
    }
  }
  return 0;
}

/* The largest distance of any rank's point, times `scale`, from what it should be. */
static double error_of(const Complex* square, double scale, int is_transposed,
                       Complex (*expected)(int row, int column)) {
  double mine = 0, largest = 0;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < kSide; ++j) {
      const int row = rank * rows + i;
      const Complex right = is_transposed ? expected(j, row) : expected(row, j);
      const double error = cabs(square[i * kSide + j] * scale - right);
      if (error > mine) mine = error;
    }
  }
  MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return largest;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (kSide % size != 0) {
    if (rank == 0) fprintf(stderr, "fft_transpose: %d ranks do not divide %d\n", size, kSide);
    MPI_Finalize();
    return EXIT_FAILURE;
  }
  rows = kSide / size;
  const size_t points = (size_t)rows * kSide;
  Complex* square = malloc(points * sizeof *square);
  Complex* other = malloc(points * sizeof *other);
  if (square == NULL || other == NULL) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < kSide; ++j) square[i * kSide + j] = input_at(rank * rows + i, j);
  }

  transform_square(square, other, -1);
  const int found = error_of(other, 1, 1, output_at) < 1e-8;
  transform_square(other, square, 1);
  const int is_back = error_of(square, 1.0 / (kSide * kSide), 0, input_at) < 1e-11;
  if (rank == 0) {
    printf("fft_transpose: %d x %d points, the waves are %s, the inverse gives them %s\n", kSide,
           kSide, found ? "found" : "NOT found", is_back ? "back" : "NOT back");
  }
  free(square);
  free(other);
  MPI_Finalize();
  return found && is_back ? EXIT_SUCCESS : EXIT_FAILURE;
}
