/* mpi_types.h: datatypes, predefined and derived, packing, and what a status says of elements.
 * mpi.h includes it, and says what holds for all.
 *
 * Every collective takes derived datatypes. What lies as it would in an array goes as it is,
 * regular types are packed by the library segment by segment, others before and after the
 * operation. Types may be freed while operations that use them are under way.
 */
#include "mpi.h" /* and with it this file: what follows is seen before mpi_profile.h */

#ifndef ESPALIER_MPI_MPI_TYPES_H
#define ESPALIER_MPI_MPI_TYPES_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- predefined ones ---- */

#define MPI_AINT ((MPI_Datatype)0x201)
#define MPI_COUNT ((MPI_Datatype)0x202)
#define MPI_OFFSET ((MPI_Datatype)0x203)
#define MPI_PACKED ((MPI_Datatype)0x207)
#define MPI_SHORT ((MPI_Datatype)0x208)
#define MPI_INT ((MPI_Datatype)0x209)
#define MPI_LONG ((MPI_Datatype)0x20a)
#define MPI_LONG_LONG ((MPI_Datatype)0x20b)
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x20c)
#define MPI_UNSIGNED ((MPI_Datatype)0x20d)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x20e)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x20f)
#define MPI_FLOAT ((MPI_Datatype)0x210)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x212)
#define MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)0x213)
#define MPI_DOUBLE ((MPI_Datatype)0x214)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x216)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)0x217)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x220)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x224)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x225)
#define MPI_FLOAT_INT ((MPI_Datatype)0x228)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x229)
#define MPI_LONG_INT ((MPI_Datatype)0x22a)
#define MPI_2INT ((MPI_Datatype)0x22b)
#define MPI_SHORT_INT ((MPI_Datatype)0x22c)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x22d)
#define MPI_C_BOOL ((MPI_Datatype)0x238)
#define MPI_CXX_BOOL ((MPI_Datatype)0x239)
#define MPI_WCHAR ((MPI_Datatype)0x23c)
#define MPI_INT8_T ((MPI_Datatype)0x240)
#define MPI_UINT8_T ((MPI_Datatype)0x241)
#define MPI_CHAR ((MPI_Datatype)0x243)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x244)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x245)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_INT16_T ((MPI_Datatype)0x248)
#define MPI_UINT16_T ((MPI_Datatype)0x249)
#define MPI_INT32_T ((MPI_Datatype)0x250)
#define MPI_UINT32_T ((MPI_Datatype)0x251)
#define MPI_INT64_T ((MPI_Datatype)0x258)
#define MPI_UINT64_T ((MPI_Datatype)0x259)

/* Of Fortran, whose default types are taken to have 4 bytes. */
#define MPI_LOGICAL ((MPI_Datatype)0x218)
#define MPI_INTEGER ((MPI_Datatype)0x219)
#define MPI_REAL ((MPI_Datatype)0x21a)
#define MPI_COMPLEX ((MPI_Datatype)0x21b)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x21c)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x21d)
#define MPI_CHARACTER ((MPI_Datatype)0x21e)
#define MPI_2REAL ((MPI_Datatype)0x230)
#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x231)
#define MPI_2INTEGER ((MPI_Datatype)0x232)
#define MPI_LOGICAL1 ((MPI_Datatype)0x2c0)
#define MPI_INTEGER1 ((MPI_Datatype)0x2c1)
#define MPI_LOGICAL2 ((MPI_Datatype)0x2c8)
#define MPI_INTEGER2 ((MPI_Datatype)0x2c9)
#define MPI_REAL2 ((MPI_Datatype)0x2ca)
#define MPI_LOGICAL4 ((MPI_Datatype)0x2d0)
#define MPI_INTEGER4 ((MPI_Datatype)0x2d1)
#define MPI_REAL4 ((MPI_Datatype)0x2d2)
#define MPI_COMPLEX4 ((MPI_Datatype)0x2d3)
#define MPI_LOGICAL8 ((MPI_Datatype)0x2d8)
#define MPI_INTEGER8 ((MPI_Datatype)0x2d9)
#define MPI_REAL8 ((MPI_Datatype)0x2da)
#define MPI_COMPLEX8 ((MPI_Datatype)0x2db)
#define MPI_LOGICAL16 ((MPI_Datatype)0x2e0)
#define MPI_INTEGER16 ((MPI_Datatype)0x2e1)
#define MPI_REAL16 ((MPI_Datatype)0x2e2)
#define MPI_COMPLEX16 ((MPI_Datatype)0x2e3)
#define MPI_COMPLEX32 ((MPI_Datatype)0x2eb)

/* ---- constants ---- */

#define MPI_MAX_OBJECT_NAME 128

enum { MPI_ORDER_C = 12, MPI_ORDER_FORTRAN = 15 };

enum {
  MPI_DISTRIBUTE_NONE = 16,
  MPI_DISTRIBUTE_BLOCK = 17,
  MPI_DISTRIBUTE_CYCLIC = 18,
  MPI_DISTRIBUTE_DFLT_DARG = 19
};

enum {
  MPI_COMBINER_NAMED = 101,
  MPI_COMBINER_DUP = 102,
  MPI_COMBINER_CONTIGUOUS = 103,
  MPI_COMBINER_VECTOR = 104,
  MPI_COMBINER_HVECTOR = 105,
  MPI_COMBINER_INDEXED = 106,
  MPI_COMBINER_HINDEXED = 107,
  MPI_COMBINER_INDEXED_BLOCK = 108,
  MPI_COMBINER_HINDEXED_BLOCK = 109,
  MPI_COMBINER_STRUCT = 110,
  MPI_COMBINER_SUBARRAY = 111,
  MPI_COMBINER_DARRAY = 112,
  MPI_COMBINER_F90_REAL = 113,
  MPI_COMBINER_F90_COMPLEX = 114,
  MPI_COMBINER_F90_INTEGER = 115,
  MPI_COMBINER_RESIZED = 116,
  MPI_COMBINER_VALUE_INDEX = 117
};

enum { MPI_TYPECLASS_INTEGER = 192, MPI_TYPECLASS_REAL = 193, MPI_TYPECLASS_COMPLEX = 194 };

/* ---- making them ---- */

/* Forms that end in _c count by MPI_Count. A type that is made is used in communication after
 * MPI_Type_commit, and to make others before it, too. MPI_ERR_COUNT: its size or extent has more
 * than 63 bits. */

ESP_MPI_API int MPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_contiguous_c(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype,
                                MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_vector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                                  MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride,
                                        MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_hvector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                                          MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_indexed(int count, const int blocklengths[], const int displs[],
                                 MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_indexed_c(MPI_Count count, const MPI_Count blocklengths[],
                                   const MPI_Count displs[], MPI_Datatype oldtype,
                                   MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_hindexed(int count, const int blocklengths[],
                                         const MPI_Aint displs[], MPI_Datatype oldtype,
                                         MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_hindexed_c(MPI_Count count, const MPI_Count blocklengths[],
                                           const MPI_Count displs[], MPI_Datatype oldtype,
                                           MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_indexed_block(int count, int blocklength, const int displs[],
                                              MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_indexed_block_c(MPI_Count count, MPI_Count blocklength,
                                                const MPI_Count displs[], MPI_Datatype oldtype,
                                                MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_hindexed_block(int count, int blocklength, const MPI_Aint displs[],
                                               MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_hindexed_block_c(MPI_Count count, MPI_Count blocklength,
                                                 const MPI_Count displs[], MPI_Datatype oldtype,
                                                 MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_struct(int count, const int blocklengths[], const MPI_Aint displs[],
                                       const MPI_Datatype types[], MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_struct_c(MPI_Count count, const MPI_Count blocklengths[],
                                         const MPI_Count displs[], const MPI_Datatype types[],
                                         MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent,
                                        MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_resized_c(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent,
                                          MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_subarray(int ndims, const int sizes[], const int subsizes[],
                                         const int starts[], int order, MPI_Datatype oldtype,
                                         MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_subarray_c(int ndims, const MPI_Count sizes[],
                                           const MPI_Count subsizes[], const MPI_Count starts[],
                                           int order, MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_darray(int size, int rank, int ndims, const int gsizes[],
                                       const int distribs[], const int dargs[], const int psizes[],
                                       int order, MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_darray_c(int size, int rank, int ndims, const MPI_Count gsizes[],
                                         const int distribs[], const int dargs[],
                                         const int psizes[], int order, MPI_Datatype oldtype,
                                         MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_commit(MPI_Datatype* datatype);
ESP_MPI_API int MPI_Type_free(MPI_Datatype* datatype);
ESP_MPI_API int MPI_Type_match_size(int typeclass, int size, MPI_Datatype* datatype);
/* The predefined pair of both, as MPI_DOUBLE_INT; MPI_DATATYPE_NULL where there is none. */
ESP_MPI_API int MPI_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type,
                                         MPI_Datatype* pair_type);
ESP_MPI_API int MPI_Type_create_f90_integer(int range, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_f90_real(int precision, int range, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_create_f90_complex(int precision, int range, MPI_Datatype* newtype);

/* ---- asking them ---- */

/* Of types that were made by a _c form MPI_Type_get_envelope and MPI_Type_get_contents say
 * MPI_ERR_TYPE: what they would say has no place in ints. */

ESP_MPI_API int MPI_Type_size(MPI_Datatype datatype, int* size);
ESP_MPI_API int MPI_Type_size_c(MPI_Datatype datatype, MPI_Count* size);
ESP_MPI_API int MPI_Type_size_x(MPI_Datatype datatype, MPI_Count* size);
ESP_MPI_API int MPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent);
ESP_MPI_API int MPI_Type_get_extent_c(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent);
ESP_MPI_API int MPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent);
ESP_MPI_API int MPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint* true_lb,
                                         MPI_Aint* true_extent);
ESP_MPI_API int MPI_Type_get_true_extent_c(MPI_Datatype datatype, MPI_Count* true_lb,
                                           MPI_Count* true_extent);
ESP_MPI_API int MPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count* true_lb,
                                           MPI_Count* true_extent);
ESP_MPI_API int MPI_Type_get_envelope(MPI_Datatype datatype, int* num_integers, int* num_addresses,
                                      int* num_datatypes, int* combiner);
ESP_MPI_API int MPI_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count* num_integers,
                                        MPI_Count* num_addresses, MPI_Count* num_large_counts,
                                        MPI_Count* num_datatypes, int* combiner);
ESP_MPI_API int MPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses,
                                      int max_datatypes, int integers[], MPI_Aint addresses[],
                                      MPI_Datatype datatypes[]);
ESP_MPI_API int MPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers,
                                        MPI_Count max_addresses, MPI_Count max_large_counts,
                                        MPI_Count max_datatypes, int integers[],
                                        MPI_Aint addresses[], MPI_Count large_counts[],
                                        MPI_Datatype datatypes[]);
ESP_MPI_API int MPI_Type_set_name(MPI_Datatype datatype, const char* type_name);
ESP_MPI_API int MPI_Type_get_name(MPI_Datatype datatype, char* type_name, int* resultlen);

/* Absolute addresses, for types of MPI_BOTTOM. */

ESP_MPI_API int MPI_Get_address(const void* location, MPI_Aint* address);
ESP_MPI_API MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint displ);
ESP_MPI_API MPI_Aint MPI_Aint_diff(MPI_Aint one, MPI_Aint other);

/* Removed in MPI 3.0, still met in the wild. */

ESP_MPI_API int MPI_Address(void* location, MPI_Aint* address);
ESP_MPI_API int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent);
ESP_MPI_API int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement);
ESP_MPI_API int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement);
ESP_MPI_API int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                                 MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_hindexed(int count, int blocklengths[], MPI_Aint displs[],
                                  MPI_Datatype oldtype, MPI_Datatype* newtype);
ESP_MPI_API int MPI_Type_struct(int count, int blocklengths[], MPI_Aint displs[],
                                MPI_Datatype types[], MPI_Datatype* newtype);

/* ---- packing ---- */

/* The bytes of the elements one after the other. */

ESP_MPI_API int MPI_Pack(const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf,
                         int outsize, int* position, MPI_Comm comm);
ESP_MPI_API int MPI_Pack_c(const void* inbuf, MPI_Count incount, MPI_Datatype datatype,
                           void* outbuf, MPI_Count outsize, MPI_Count* position, MPI_Comm comm);
ESP_MPI_API int MPI_Unpack(const void* inbuf, int insize, int* position, void* outbuf, int outcount,
                           MPI_Datatype datatype, MPI_Comm comm);
ESP_MPI_API int MPI_Unpack_c(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
                             MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm);
ESP_MPI_API int MPI_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int* size);
ESP_MPI_API int MPI_Pack_size_c(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm,
                                MPI_Count* size);

/* "external32", the one representation that there is: big-endian, of sizes that the standard
 * fixes. Integers that are longer here lose their upper bytes, long double goes as IEEE binary128.
 */

ESP_MPI_API int MPI_Pack_external(const char datarep[], const void* inbuf, int incount,
                                  MPI_Datatype datatype, void* outbuf, MPI_Aint outsize,
                                  MPI_Aint* position);
ESP_MPI_API int MPI_Pack_external_c(const char datarep[], const void* inbuf, MPI_Count incount,
                                    MPI_Datatype datatype, void* outbuf, MPI_Count outsize,
                                    MPI_Count* position);
ESP_MPI_API int MPI_Unpack_external(const char datarep[], const void* inbuf, MPI_Aint insize,
                                    MPI_Aint* position, void* outbuf, int outcount,
                                    MPI_Datatype datatype);
ESP_MPI_API int MPI_Unpack_external_c(const char datarep[], const void* inbuf, MPI_Count insize,
                                      MPI_Count* position, void* outbuf, MPI_Count outcount,
                                      MPI_Datatype datatype);
ESP_MPI_API int MPI_Pack_external_size(const char datarep[], int incount, MPI_Datatype datatype,
                                       MPI_Aint* size);
ESP_MPI_API int MPI_Pack_external_size_c(const char datarep[], MPI_Count incount,
                                         MPI_Datatype datatype, MPI_Count* size);

/* ---- statuses ---- */

ESP_MPI_API int MPI_Get_count(const MPI_Status* status, MPI_Datatype datatype, int* count);
ESP_MPI_API int MPI_Get_count_c(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count);
ESP_MPI_API int MPI_Get_elements(const MPI_Status* status, MPI_Datatype datatype, int* count);
ESP_MPI_API int MPI_Get_elements_c(const MPI_Status* status, MPI_Datatype datatype,
                                   MPI_Count* count);
ESP_MPI_API int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype datatype,
                                   MPI_Count* count);
ESP_MPI_API int MPI_Status_set_elements(MPI_Status* status, MPI_Datatype datatype, int count);
ESP_MPI_API int MPI_Status_set_elements_c(MPI_Status* status, MPI_Datatype datatype,
                                          MPI_Count count);
ESP_MPI_API int MPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype datatype,
                                          MPI_Count count);
ESP_MPI_API int MPI_Status_set_cancelled(MPI_Status* status, int flag);
ESP_MPI_API int MPI_Test_cancelled(const MPI_Status* status, int* flag);
ESP_MPI_API int MPI_Status_get_source(const MPI_Status* status, int* source);
ESP_MPI_API int MPI_Status_get_tag(const MPI_Status* status, int* tag);
ESP_MPI_API int MPI_Status_get_error(const MPI_Status* status, int* error);
ESP_MPI_API int MPI_Status_set_source(MPI_Status* status, int source);
ESP_MPI_API int MPI_Status_set_tag(MPI_Status* status, int tag);
ESP_MPI_API int MPI_Status_set_error(MPI_Status* status, int error);

/* ---- operators ---- */

/* Operators of the user combine elements of derived types, too: see docs/datatypes.md. */

typedef void(MPI_User_function_c)(void* invec, void* inoutvec, MPI_Count* len,
                                  MPI_Datatype* datatype);
ESP_MPI_API int MPI_Op_create_c(MPI_User_function_c* function, int commute, MPI_Op* op);
ESP_MPI_API int MPI_Reduce_local(const void* inbuf, void* inoutbuf, int count,
                                 MPI_Datatype datatype, MPI_Op op);
ESP_MPI_API int MPI_Reduce_local_c(const void* inbuf, void* inoutbuf, MPI_Count count,
                                   MPI_Datatype datatype, MPI_Op op);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_MPI_MPI_TYPES_H */
