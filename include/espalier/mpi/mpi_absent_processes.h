/* mpi_absent_processes.h: the functions of processes that join a job, of intercommunicators, and of
 * sessions, as a list for mpi_absent.h, which says what becomes of each.
 */
#ifndef ESPALIER_MPI_MPI_ABSENT_PROCESSES_H
#define ESPALIER_MPI_MPI_ABSENT_PROCESSES_H

#include "mpi_absent.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ESP_MPI_NO_PROCESSES(function, arguments) \
  ESP_MPI_ABSENT(int, function, dynamic_processes, arguments)
#define ESP_MPI_NO_INTERCOMMUNICATORS(function, arguments) \
  ESP_MPI_ABSENT(int, function, intercommunicators, arguments)
#define ESP_MPI_NO_SESSIONS(function, arguments) ESP_MPI_ABSENT(int, function, sessions, arguments)

ESP_MPI_NO_PROCESSES(MPI_Comm_spawn,
                     (const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
                      MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]));
ESP_MPI_NO_PROCESSES(MPI_Comm_spawn_multiple,
                     (int count, char* array_of_commands[], char** array_of_argv[],
                      const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
                      MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]));
ESP_MPI_NO_PROCESSES(MPI_Comm_accept, (const char* port_name, MPI_Info info, int root,
                                       MPI_Comm comm, MPI_Comm* newcomm));
ESP_MPI_NO_PROCESSES(MPI_Comm_connect, (const char* port_name, MPI_Info info, int root,
                                        MPI_Comm comm, MPI_Comm* newcomm));
ESP_MPI_NO_PROCESSES(MPI_Comm_join, (int fd, MPI_Comm* intercomm));
ESP_MPI_NO_PROCESSES(MPI_Open_port, (MPI_Info info, char* port_name));
ESP_MPI_NO_PROCESSES(MPI_Close_port, (const char* port_name));
ESP_MPI_NO_PROCESSES(MPI_Publish_name,
                     (const char* service_name, MPI_Info info, const char* port_name));
ESP_MPI_NO_PROCESSES(MPI_Unpublish_name,
                     (const char* service_name, MPI_Info info, const char* port_name));
ESP_MPI_NO_PROCESSES(MPI_Lookup_name, (const char* service_name, MPI_Info info, char* port_name));

ESP_MPI_NO_INTERCOMMUNICATORS(MPI_Intercomm_create,
                              (MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
                               int remote_leader, int tag, MPI_Comm* newintercomm));
ESP_MPI_NO_INTERCOMMUNICATORS(MPI_Intercomm_merge,
                              (MPI_Comm intercomm, int high, MPI_Comm* newintracomm));
ESP_MPI_NO_INTERCOMMUNICATORS(MPI_Intercomm_create_from_groups,
                              (MPI_Group local_group, int local_leader, MPI_Group remote_group,
                               int remote_leader, const char* stringtag, MPI_Info info,
                               MPI_Errhandler errhandler, MPI_Comm* newintercomm));

ESP_MPI_NO_SESSIONS(MPI_Session_call_errhandler, (MPI_Session session, int errorcode));
ESP_MPI_NO_SESSIONS(MPI_Session_create_errhandler,
                    (MPI_Session_errhandler_function * session_errhandler_fn,
                     MPI_Errhandler* errhandler));
ESP_MPI_NO_SESSIONS(MPI_Session_get_errhandler, (MPI_Session session, MPI_Errhandler* errhandler));
ESP_MPI_NO_SESSIONS(MPI_Session_set_errhandler, (MPI_Session session, MPI_Errhandler errhandler));
ESP_MPI_NO_SESSIONS(MPI_Comm_create_from_group,
                    (MPI_Group group, const char* stringtag, MPI_Info info,
                     MPI_Errhandler errhandler, MPI_Comm* newcomm));
ESP_MPI_NO_SESSIONS(MPI_Group_from_session_pset,
                    (MPI_Session session, const char* pset_name, MPI_Group* newgroup));
ESP_MPI_NO_SESSIONS(MPI_Session_finalize, (MPI_Session * session));
ESP_MPI_NO_SESSIONS(MPI_Session_get_info, (MPI_Session session, MPI_Info* info_used));
ESP_MPI_NO_SESSIONS(MPI_Session_get_nth_pset,
                    (MPI_Session session, MPI_Info info, int n, int* pset_len, char* pset_name));
ESP_MPI_NO_SESSIONS(MPI_Session_get_num_psets,
                    (MPI_Session session, MPI_Info info, int* npset_names));
ESP_MPI_NO_SESSIONS(MPI_Session_get_pset_info,
                    (MPI_Session session, const char* pset_name, MPI_Info* info));
ESP_MPI_NO_SESSIONS(MPI_Session_init,
                    (MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session));
ESP_MPI_NO_SESSIONS(MPI_Session_attach_buffer, (MPI_Session session, void* buffer, int size));
ESP_MPI_NO_SESSIONS(MPI_Session_attach_buffer_c,
                    (MPI_Session session, void* buffer, MPI_Count size));
ESP_MPI_NO_SESSIONS(MPI_Session_detach_buffer, (MPI_Session session, void* buffer_addr, int* size));
ESP_MPI_NO_SESSIONS(MPI_Session_detach_buffer_c,
                    (MPI_Session session, void* buffer_addr, MPI_Count* size));
ESP_MPI_NO_SESSIONS(MPI_Session_flush_buffer, (MPI_Session session));
ESP_MPI_NO_SESSIONS(MPI_Session_iflush_buffer, (MPI_Session session, MPI_Request* request));

/* As integers of Fortran, which are those of C. */
ESP_MPI_ABSENT(int, MPI_Session_c2f, sessions, (MPI_Session session));
ESP_MPI_ABSENT(MPI_Session, MPI_Session_f2c, sessions, (int session));

#undef ESP_MPI_NO_PROCESSES
#undef ESP_MPI_NO_INTERCOMMUNICATORS
#undef ESP_MPI_NO_SESSIONS

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_MPI_MPI_ABSENT_PROCESSES_H */
