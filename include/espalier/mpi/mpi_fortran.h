/* mpi_fortran.h: handles and statuses as Fortran knows them, and what bindings of other languages
 * need. mpi.h includes it, and says what holds for all.
 *
 * A predefined handle is the number that it is in C. What the program makes gets a number above
 * these when it is first asked for, which it keeps until it is gone. What is no number of a handle
 * of the kind gives the null handle.
 */
#include "mpi.h" /* and with it this file: what follows is seen before mpi_profile.h */

#ifndef ESPALIER_MPI_MPI_FORTRAN_H
#define ESPALIER_MPI_MPI_FORTRAN_H
#include "mpi_messages.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int MPI_Fint;

/* ---- handles of Fortran ---- */

ESP_MPI_API MPI_Fint MPI_Comm_c2f(MPI_Comm comm);
ESP_MPI_API MPI_Comm MPI_Comm_f2c(MPI_Fint comm);
ESP_MPI_API MPI_Fint MPI_Group_c2f(MPI_Group group);
ESP_MPI_API MPI_Group MPI_Group_f2c(MPI_Fint group);
ESP_MPI_API MPI_Fint MPI_Type_c2f(MPI_Datatype datatype);
ESP_MPI_API MPI_Datatype MPI_Type_f2c(MPI_Fint datatype);
ESP_MPI_API MPI_Fint MPI_Op_c2f(MPI_Op op);
ESP_MPI_API MPI_Op MPI_Op_f2c(MPI_Fint op);
ESP_MPI_API MPI_Fint MPI_Request_c2f(MPI_Request request);
ESP_MPI_API MPI_Request MPI_Request_f2c(MPI_Fint request);
ESP_MPI_API MPI_Fint MPI_Errhandler_c2f(MPI_Errhandler errhandler);
ESP_MPI_API MPI_Errhandler MPI_Errhandler_f2c(MPI_Fint errhandler);
ESP_MPI_API MPI_Fint MPI_Info_c2f(MPI_Info info);
ESP_MPI_API MPI_Info MPI_Info_f2c(MPI_Fint info);
ESP_MPI_API MPI_Fint MPI_Message_c2f(MPI_Message message);
ESP_MPI_API MPI_Message MPI_Message_f2c(MPI_Fint message);

/* ---- handles as numbers (MPI 5.0): the same ---- */

ESP_MPI_API int MPI_Comm_toint(MPI_Comm comm);
ESP_MPI_API MPI_Comm MPI_Comm_fromint(int comm);
ESP_MPI_API int MPI_Group_toint(MPI_Group group);
ESP_MPI_API MPI_Group MPI_Group_fromint(int group);
ESP_MPI_API int MPI_Type_toint(MPI_Datatype datatype);
ESP_MPI_API MPI_Datatype MPI_Type_fromint(int datatype);
ESP_MPI_API int MPI_Op_toint(MPI_Op op);
ESP_MPI_API MPI_Op MPI_Op_fromint(int op);
ESP_MPI_API int MPI_Request_toint(MPI_Request request);
ESP_MPI_API MPI_Request MPI_Request_fromint(int request);
ESP_MPI_API int MPI_Errhandler_toint(MPI_Errhandler errhandler);
ESP_MPI_API MPI_Errhandler MPI_Errhandler_fromint(int errhandler);
ESP_MPI_API int MPI_Info_toint(MPI_Info info);
ESP_MPI_API MPI_Info MPI_Info_fromint(int info);
ESP_MPI_API int MPI_Message_toint(MPI_Message message);
ESP_MPI_API MPI_Message MPI_Message_fromint(int message);

/* ---- statuses of Fortran ---- */

/* Where the fields are in MPI_F_STATUS_SIZE numbers. */
enum { MPI_F_SOURCE = 0, MPI_F_TAG = 1, MPI_F_ERROR = 2, MPI_F_STATUS_SIZE = 8 };

/* What Fortran programs name to say that they want no status. */
extern ESP_MPI_API MPI_Fint* MPI_F_STATUS_IGNORE;
extern ESP_MPI_API MPI_Fint* MPI_F_STATUSES_IGNORE;

ESP_MPI_API int MPI_Status_c2f(const MPI_Status* status, MPI_Fint* f_status);
/* MPI_ERR_ARG: of one that is to be ignored there is none. */
ESP_MPI_API int MPI_Status_f2c(const MPI_Fint* f_status, MPI_Status* status);

/* ---- functions of other languages: not of the standard ---- */

/* As MPICH 4.3 has them: the functions get what the caller knows, which the destructor, unless it
 * is NULL, gets when nothing needs it any more. */
typedef void(MPIX_User_function_x)(void* invec, void* inoutvec, MPI_Count len,
                                   MPI_Datatype datatype, void* extra_state);
typedef void(MPIX_Comm_errhandler_function_x)(MPI_Comm comm, int error_code, void* extra_state);
typedef void(MPIX_Destructor_function)(void* extra_state);
ESP_MPI_API int MPIX_Op_create_x(MPIX_User_function_x* function,
                                 MPIX_Destructor_function* destructor, int commute,
                                 void* extra_state, MPI_Op* op);
ESP_MPI_API int MPIX_Comm_create_errhandler_x(MPIX_Comm_errhandler_function_x* function,
                                              MPIX_Destructor_function* destructor,
                                              void* extra_state, MPI_Errhandler* errhandler);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_MPI_MPI_FORTRAN_H */
