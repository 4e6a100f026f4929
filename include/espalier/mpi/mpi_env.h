/* mpi_env.h: initialisation, errors, hints and memory. mpi.h includes it, and says what holds for
 * all.
 */
#include "mpi.h" /* and with it this file: what follows is seen before mpi_profile.h */

#ifndef ESPALIER_MPI_MPI_ENV_H
#define ESPALIER_MPI_MPI_ENV_H

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_ERROR_STRING 512
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_MAX_INFO_KEY 256
#define MPI_MAX_INFO_VAL 1024

enum {
  MPI_THREAD_SINGLE = 0,
  MPI_THREAD_FUNNELED = 1024,
  MPI_THREAD_SERIALIZED = 2048,
  MPI_THREAD_MULTIPLE = 4096
};

/* All error classes of the standard; some are of parts that are not here. Functions return codes:
 * MPI_Error_class gives the class of a code, MPI_Error_string its text, which names the rank and
 * the cause. */
enum {
  MPI_SUCCESS = 0,
  MPI_ERR_BUFFER = 1,
  MPI_ERR_COUNT = 2,
  MPI_ERR_TYPE = 3,
  MPI_ERR_TAG = 4,
  MPI_ERR_COMM = 5,
  MPI_ERR_RANK = 6,
  MPI_ERR_REQUEST = 7,
  MPI_ERR_ROOT = 8,
  MPI_ERR_GROUP = 9,
  MPI_ERR_OP = 10,
  MPI_ERR_TOPOLOGY = 11,
  MPI_ERR_DIMS = 12,
  MPI_ERR_ARG = 13,
  MPI_ERR_UNKNOWN = 14,
  MPI_ERR_TRUNCATE = 15,
  MPI_ERR_OTHER = 16,
  MPI_ERR_INTERN = 17,
  MPI_ERR_PENDING = 18,
  MPI_ERR_IN_STATUS = 19,
  MPI_ERR_ACCESS = 20,
  MPI_ERR_AMODE = 21,
  MPI_ERR_ASSERT = 22,
  MPI_ERR_BAD_FILE = 23,
  MPI_ERR_BASE = 24,
  MPI_ERR_CONVERSION = 25,
  MPI_ERR_DISP = 26,
  MPI_ERR_DUP_DATAREP = 27,
  MPI_ERR_FILE_EXISTS = 28,
  MPI_ERR_FILE_IN_USE = 29,
  MPI_ERR_FILE = 30,
  MPI_ERR_INFO_KEY = 31,
  MPI_ERR_INFO_NOKEY = 32,
  MPI_ERR_INFO_VALUE = 33,
  MPI_ERR_INFO = 34,
  MPI_ERR_IO = 35,
  MPI_ERR_KEYVAL = 36,
  MPI_ERR_LOCKTYPE = 37,
  MPI_ERR_NAME = 38,
  MPI_ERR_NO_MEM = 39,
  MPI_ERR_NOT_SAME = 40,
  MPI_ERR_NO_SPACE = 41,
  MPI_ERR_NO_SUCH_FILE = 42,
  MPI_ERR_PORT = 43,
  MPI_ERR_QUOTA = 44,
  MPI_ERR_READ_ONLY = 45,
  MPI_ERR_RMA_ATTACH = 46,
  MPI_ERR_RMA_CONFLICT = 47,
  MPI_ERR_RMA_RANGE = 48,
  MPI_ERR_RMA_SHARED = 49,
  MPI_ERR_RMA_SYNC = 50,
  MPI_ERR_SERVICE = 51,
  MPI_ERR_SIZE = 52,
  MPI_ERR_SPAWN = 53,
  MPI_ERR_UNSUPPORTED_DATAREP = 54,
  MPI_ERR_UNSUPPORTED_OPERATION = 55,
  MPI_ERR_WIN = 56,
  MPI_ERR_RMA_FLAVOR = 57,
  MPI_ERR_PROC_ABORTED = 58,
  MPI_ERR_VALUE_TOO_LARGE = 59,
  MPI_ERR_SESSION = 60,
  MPI_ERR_ERRHANDLER = 61,
  MPI_ERR_ABI = 62,
  MPI_ERR_LASTCODE = 0x3fff
};

/* ---- environment ---- */

ESP_MPI_API int MPI_Init(int* argc, char*** argv);
ESP_MPI_API int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
/* First deletes the attributes of MPI_COMM_SELF, the last one that was set first, then those of
 * MPI_COMM_WORLD, while everything still works. */
ESP_MPI_API int MPI_Finalize(void);
ESP_MPI_API int MPI_Initialized(int* flag);
ESP_MPI_API int MPI_Finalized(int* flag);
ESP_MPI_API int MPI_Query_thread(int* provided);
ESP_MPI_API int MPI_Is_thread_main(int* flag);
ESP_MPI_API int MPI_Abort(MPI_Comm comm, int errorcode);
ESP_MPI_API int MPI_Get_processor_name(char* name, int* resultlen);
ESP_MPI_API int MPI_Get_version(int* version, int* subversion);
ESP_MPI_API int MPI_Get_library_version(char* version, int* resultlen);
/* What MPI_Comm_split_type knows by name: mpi_shared_memory. */
ESP_MPI_API int MPI_Get_hw_resource_info(MPI_Info* hw_info);
ESP_MPI_API double MPI_Wtime(void);
ESP_MPI_API double MPI_Wtick(void);
/* Does nothing: there is no profile. */
ESP_MPI_API int MPI_Pcontrol(const int level, ...);

/* ---- memory ---- */

/* Where there is room, memory that other ranks of the node read in place. Of the hints,
 * mpi_minimum_memory_alignment counts. */
ESP_MPI_API int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr);
ESP_MPI_API int MPI_Free_mem(void* base);

/* ---- errors ---- */

typedef void(MPI_Comm_errhandler_function)(MPI_Comm* comm, int* error_code, ...);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;

/* Errors that are of no communicator, a null one among them, go to the handler of MPI_COMM_SELF, as
 * of MPI 4.0. */
ESP_MPI_API int MPI_Error_string(int errorcode, char* string, int* resultlen);
ESP_MPI_API int MPI_Error_class(int errorcode, int* errorclass);
ESP_MPI_API int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function* function,
                                           MPI_Errhandler* errhandler);
ESP_MPI_API int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler);
ESP_MPI_API int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler);
ESP_MPI_API int MPI_Comm_call_errhandler(MPI_Comm comm, int errorcode);
ESP_MPI_API int MPI_Errhandler_free(MPI_Errhandler* errhandler);

/* ---- errors of the program's own ---- */

/* At most 512 classes and codes together; the numbers of removed ones are given again. */
ESP_MPI_API int MPI_Add_error_class(int* errorclass);
ESP_MPI_API int MPI_Add_error_code(int errorclass, int* errorcode);
ESP_MPI_API int MPI_Add_error_string(int errorcode, const char* string);
ESP_MPI_API int MPI_Remove_error_class(int errorclass);
ESP_MPI_API int MPI_Remove_error_code(int errorcode);
ESP_MPI_API int MPI_Remove_error_string(int errorcode);

/* ---- removed in MPI 3.0, still met in the wild ---- */

typedef MPI_Comm_errhandler_function MPI_Handler_function;
ESP_MPI_API int MPI_Errhandler_create(MPI_Handler_function* function, MPI_Errhandler* errhandler);
ESP_MPI_API int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler);
ESP_MPI_API int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler);

/* ---- info ---- */

/* Keys keep the order in which they were first set. MPI_INFO_ENV can be read alone. These functions
 * may be called before MPI_Init and after MPI_Finalize, too, where an error ends the process. */
ESP_MPI_API int MPI_Info_create(MPI_Info* info);
ESP_MPI_API int MPI_Info_create_env(int argc, char* argv[], MPI_Info* info);
ESP_MPI_API int MPI_Info_dup(MPI_Info info, MPI_Info* newinfo);
ESP_MPI_API int MPI_Info_free(MPI_Info* info);
ESP_MPI_API int MPI_Info_set(MPI_Info info, const char* key, const char* value);
ESP_MPI_API int MPI_Info_delete(MPI_Info info, const char* key);
ESP_MPI_API int MPI_Info_get(MPI_Info info, const char* key, int valuelen, char* value, int* flag);
ESP_MPI_API int MPI_Info_get_string(MPI_Info info, const char* key, int* buflen, char* value,
                                    int* flag);
ESP_MPI_API int MPI_Info_get_valuelen(MPI_Info info, const char* key, int* valuelen, int* flag);
ESP_MPI_API int MPI_Info_get_nkeys(MPI_Info info, int* nkeys);
ESP_MPI_API int MPI_Info_get_nthkey(MPI_Info info, int n, char* key);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_MPI_MPI_ENV_H */
