/* mpi_abi.h: which standard ABI this is. mpi.h includes it, and says what holds for all.
 *
 * Programs that were compiled against any mpi.h of the ABI of MPI 5.0, and linked with -lmpi_abi,
 * find libmpi_abi.so.0 beside this library: docs/mpi.md.
 */
#include "mpi.h" /* and with it this file: what follows is seen before mpi_profile.h */

#ifndef ESPALIER_MPI_MPI_ABI_H
#define ESPALIER_MPI_MPI_ABI_H

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0

/* ---- ABI ---- */

/* All of them at any time, also before MPI_Init. */
ESP_MPI_API int MPI_Abi_get_version(int* abi_major, int* abi_minor);
/* Sizes in bytes: mpi_aint_size, mpi_count_size, mpi_offset_size. */
ESP_MPI_API int MPI_Abi_get_info(MPI_Info* info);
/* Sizes in bytes of Fortran's default types, which are taken to be fixed: mpi_logical_size,
 * mpi_integer_size, mpi_real_size, mpi_double_precision_size. */
ESP_MPI_API int MPI_Abi_get_fortran_info(MPI_Info* info);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_MPI_MPI_ABI_H */
