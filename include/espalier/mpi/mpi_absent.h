/* mpi_absent.h: what of MPI is not here: RMA windows, files, dynamic processes, intercommunicators
 * and sessions. mpi.h includes it.
 *
 * Programs that name these parts compile. Their functions are known to the linker by names that
 * nobody defines and that say what is missing, so that a call which the program can reach is an
 * error of the linker:
 *
 *   undefined reference to `MPI_Win_create__Espalier_has_no_RMA_windows__see_docs_mpi_md'
 *
 * `esp-cc --missing=late` links functions by these names that end the job when they are called.
 */
#include "mpi.h" /* and with it this file: what follows is seen before mpi_profile.h */

#ifndef ESPALIER_MPI_MPI_ABSENT_H
#define ESPALIER_MPI_MPI_ABSENT_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- handles ---- */

typedef struct MPI_ABI_Win* MPI_Win;
#define MPI_WIN_NULL ((MPI_Win)0x110)

typedef struct MPI_ABI_File* MPI_File;
#define MPI_FILE_NULL ((MPI_File)0x118)

typedef struct MPI_ABI_Session* MPI_Session;
#define MPI_SESSION_NULL ((MPI_Session)0x120)

/* Operators of windows alone. */
#define MPI_REPLACE ((MPI_Op)0x3c)
#define MPI_NO_OP ((MPI_Op)0x3d)

/* ---- constants ---- */

enum {
  MPI_WIN_BASE = 601,
  MPI_WIN_DISP_UNIT = 602,
  MPI_WIN_SIZE = 603,
  MPI_WIN_CREATE_FLAVOR = 604,
  MPI_WIN_MODEL = 605
};

enum {
  MPI_WIN_FLAVOR_CREATE = 311,
  MPI_WIN_FLAVOR_ALLOCATE = 312,
  MPI_WIN_FLAVOR_DYNAMIC = 313,
  MPI_WIN_FLAVOR_SHARED = 314
};

enum { MPI_WIN_UNIFIED = 321, MPI_WIN_SEPARATE = 322 };

enum { MPI_LOCK_EXCLUSIVE = 301, MPI_LOCK_SHARED = 302 };

enum {
  MPI_MODE_NOCHECK = 1024,
  MPI_MODE_NOPRECEDE = 2048,
  MPI_MODE_NOPUT = 4096,
  MPI_MODE_NOSTORE = 8192,
  MPI_MODE_NOSUCCEED = 16384
};

enum {
  MPI_MODE_APPEND = 1,
  MPI_MODE_CREATE = 2,
  MPI_MODE_DELETE_ON_CLOSE = 4,
  MPI_MODE_EXCL = 8,
  MPI_MODE_RDONLY = 16,
  MPI_MODE_RDWR = 32,
  MPI_MODE_SEQUENTIAL = 64,
  MPI_MODE_UNIQUE_OPEN = 128,
  MPI_MODE_WRONLY = 256
};

enum { MPI_SEEK_CUR = 401, MPI_SEEK_END = 402, MPI_SEEK_SET = 403 };

enum { MPI_DISPLACEMENT_CURRENT = -1, MPI_ROOT = -4 };

#define MPI_MAX_DATAREP_STRING 128
#define MPI_MAX_PORT_NAME 1024
#define MPI_MAX_PSET_NAME_LEN 1024
#define MPI_MAX_STRINGTAG_LEN 1024
#define MPI_ARGV_NULL ((char**)0)
#define MPI_ARGVS_NULL ((char***)0)
#define MPI_ERRCODES_IGNORE ((int*)0)

/* ---- functions of the program ---- */

typedef int(MPI_Win_copy_attr_function)(MPI_Win oldwin, int win_keyval, void* extra_state,
                                        void* attribute_val_in, void* attribute_val_out, int* flag);
typedef int(MPI_Win_delete_attr_function)(MPI_Win win, int win_keyval, void* attribute_val,
                                          void* extra_state);
#define MPI_WIN_NULL_COPY_FN ((MPI_Win_copy_attr_function*)0)
#define MPI_WIN_DUP_FN ((MPI_Win_copy_attr_function*)1)
#define MPI_WIN_NULL_DELETE_FN ((MPI_Win_delete_attr_function*)0)

typedef int(MPI_Datarep_extent_function)(MPI_Datatype datatype, MPI_Aint* extent,
                                         void* extra_state);
typedef int(MPI_Datarep_conversion_function)(void* userbuf, MPI_Datatype datatype, int count,
                                             void* filebuf, MPI_Offset position, void* extra_state);
typedef int(MPI_Datarep_conversion_function_c)(void* userbuf, MPI_Datatype datatype,
                                               MPI_Count count, void* filebuf, MPI_Offset position,
                                               void* extra_state);
#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function*)0)
#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c*)0)

typedef void(MPI_Win_errhandler_function)(MPI_Win* win, int* error_code, ...);
typedef void(MPI_File_errhandler_function)(MPI_File* file, int* error_code, ...);
typedef void(MPI_Session_errhandler_function)(MPI_Session* session, int* error_code, ...);
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;

/* ---- functions ---- */

/* What a function is for the linker, its profiling name, too. */
#define ESP_MPI_ABSENT(result, function, part, arguments)            \
  result function arguments __asm__(#function ESP_MPI_REASON(part)); \
  result P##function arguments __asm__("P" #function ESP_MPI_REASON(part))
#define ESP_MPI_REASON(part) "__Espalier_has_no_" #part "__see_docs_mpi_md"

#ifdef __cplusplus
}
#endif

#include "mpi_absent_files.h"
#include "mpi_absent_processes.h"
#include "mpi_absent_windows.h"

#endif /* ESPALIER_MPI_MPI_ABSENT_H */
