/* Functions whose parameters are like no other's: by_hand.f90 has their interfaces. path: setup */
#include <string.h>

#include "mpi/fortran/binding.h"

ESP_MPI_API void mpi_init_(MPI_Fint* ierror) {
  *ierror = MPI_Init(NULL, NULL);
}
FORTRAN_NAMES(mpi_init)

ESP_MPI_API void mpi_init_thread_(const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) {
  *ierror = MPI_Init_thread(NULL, NULL, *required, provided);
}
FORTRAN_NAMES(mpi_init_thread)

ESP_MPI_API void mpi_pcontrol_(const MPI_Fint* level) {
  MPI_Pcontrol(*level);
}
FORTRAN_NAMES(mpi_pcontrol)

ESP_MPI_API double mpi_wtime_(void) {
  return MPI_Wtime();
}
FORTRAN_NAMES(mpi_wtime)

ESP_MPI_API double mpi_wtick_(void) {
  return MPI_Wtick();
}
FORTRAN_NAMES(mpi_wtick)

ESP_MPI_API MPI_Aint mpi_aint_add_(const MPI_Aint* base, const MPI_Aint* displ) {
  return MPI_Aint_add(*base, *displ);
}
FORTRAN_NAMES(mpi_aint_add)

ESP_MPI_API MPI_Aint mpi_aint_diff_(const MPI_Aint* one, const MPI_Aint* other) {
  return MPI_Aint_diff(*one, *other);
}
FORTRAN_NAMES(mpi_aint_diff)

/* ---- info ---- */

ESP_MPI_API void mpi_info_create_env_(MPI_Fint* info, MPI_Fint* ierror) {
  MPI_Info made = MPI_INFO_NULL;
  *ierror = MPI_Info_create_env(0, NULL, &made);
  if (*ierror == MPI_SUCCESS) *info = MPI_Info_c2f(made);
}
FORTRAN_NAMES(mpi_info_create_env)

ESP_MPI_API void mpi_info_get_(const MPI_Fint* info, const char* key, const MPI_Fint* valuelen,
                               char* value, MPI_Fint* flag, MPI_Fint* ierror, size_t length_key,
                               size_t length_value) {
  char text[MPI_MAX_INFO_VAL + 1] = "";
  char* c_key = fortran_text(key, length_key, 1);
  const int fits = *valuelen < MPI_MAX_INFO_VAL ? *valuelen : MPI_MAX_INFO_VAL;
  const int code = MPI_Info_get(MPI_Info_f2c(*info), c_key, fits, text, flag);
  if (code == MPI_SUCCESS && *flag) fortran_give_text(text, value, length_value);
  free(c_key);
  *ierror = code;
}
FORTRAN_NAMES(mpi_info_get)

/* In Fortran no length counts a terminating zero. */
ESP_MPI_API void mpi_info_get_string_(const MPI_Fint* info, const char* key, MPI_Fint* buflen,
                                      char* value, MPI_Fint* flag, MPI_Fint* ierror,
                                      size_t length_key, size_t length_value) {
  char text[MPI_MAX_INFO_VAL + 1] = "";
  char* c_key = fortran_text(key, length_key, 1);
  const int wants = *buflen > 0;
  int room = *buflen < MPI_MAX_INFO_VAL ? *buflen + wants : MPI_MAX_INFO_VAL;
  const int code = MPI_Info_get_string(MPI_Info_f2c(*info), c_key, &room, text, flag);
  if (code == MPI_SUCCESS && *flag) {
    if (wants) fortran_give_text(text, value, length_value);
    *buflen = room - 1;
  }
  free(c_key);
  *ierror = code;
}
FORTRAN_NAMES(mpi_info_get_string)

/* ---- MPI_SIZEOF ---- */

#define SIZEOF(name, bytes)                                                                \
  ESP_MPI_API void mpiespsizeof##name##_(const void* x, MPI_Fint* size, MPI_Fint* ierror); \
  void mpiespsizeof##name##_(const void* x, MPI_Fint* size, MPI_Fint* ierror) {            \
    (void)x;                                                                               \
    *size = bytes;                                                                         \
    *ierror = MPI_SUCCESS;                                                                 \
  }
SIZEOF(integer1, 1)
SIZEOF(integer2, 2)
SIZEOF(integer4, 4)
SIZEOF(integer8, 8)
SIZEOF(integer16, 16)
SIZEOF(logical1, 1)
SIZEOF(logical2, 2)
SIZEOF(logical4, 4)
SIZEOF(logical8, 8)
SIZEOF(logical16, 16)
SIZEOF(real4, 4)
SIZEOF(real8, 8)
SIZEOF(real10, 16)
SIZEOF(real16, 16)
SIZEOF(complex4, 8)
SIZEOF(complex8, 16)
SIZEOF(complex10, 32)
SIZEOF(complex16, 32)
