! types: derived datatypes, packing, addresses and attributes of types, with the module mpi.
module of_types
  use mpi
  implicit none
  integer, save :: copies = 0, deletes = 0
contains
  subroutine copied(oldtype, keyval, extra, value, copy, flag, ierror)
    integer :: oldtype, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value, copy
    logical :: flag
    copies = copies + 1
    call check(extra == 77, 'the extra state of a copy function')
    copy = value + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copied

  subroutine deleted(datatype, keyval, value, extra, ierror)
    integer :: datatype, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value
    deletes = deletes + 1
    call check(extra == 77, 'the extra state of a delete function')
    ierror = MPI_SUCCESS
  end subroutine deleted
end module of_types

program types
  use mpi
  implicit none
  integer :: rank, size, left, right
  call begin(rank, size, left, right)
  call constructors()
  call structures(rank, left, right)
  call contents()
  call packing()
  call attributes()
  call of_kinds()
  call conclude()

contains

  subroutine shape_of(type, bytes, from, span, what)
    integer, intent(in) :: type, bytes
    integer(MPI_ADDRESS_KIND), intent(in) :: from, span
    character(len=*), intent(in) :: what
    integer(MPI_ADDRESS_KIND) :: lb, extent, true_lb, true_extent
    integer(MPI_COUNT_KIND) :: large, large_lb, large_extent
    integer :: size, ierr, made
    made = type
    call MPI_Type_commit(made, ierr)
    call agree(made, type, what // ': committed')
    call MPI_Type_size(type, size, ierr)
    call agree(size, bytes, what // ': size')
    call MPI_Type_get_extent(type, lb, extent, ierr)
    call check(lb == from .and. extent == span, what // ': extent')
    call MPI_Type_get_true_extent(type, true_lb, true_extent, ierr)
    call check(true_lb >= lb .and. true_extent <= extent, what // ': true extent')
    call MPI_Type_size_x(type, large, ierr)
    call check(large == bytes, what // ': size_x')
    call MPI_Type_get_extent_x(type, large_lb, large_extent, ierr)
    call check(large_extent == span, what // ': extent_x')
    call MPI_Type_get_true_extent_x(type, large_lb, large_extent, ierr)
    call check(large_extent == true_extent, what // ': true_extent_x')
    call MPI_Type_free(made, ierr)
    call agree(made, MPI_DATATYPE_NULL, what // ': freed')
  end subroutine shape_of

  subroutine constructors()
    integer :: t, ierr
    integer(MPI_ADDRESS_KIND), parameter :: nil = 0, i8 = 8, i12 = 12, i16 = 16, i20 = 20, &
      i40 = 40, i48 = 48, i36 = 36
    call MPI_Type_contiguous(3, MPI_INTEGER, t, ierr)
    call shape_of(t, 12, nil, i12, 'contiguous')
    call MPI_Type_vector(2, 1, 4, MPI_INTEGER, t, ierr)
    call shape_of(t, 8, nil, i20, 'vector')
    call MPI_Type_create_hvector(2, 1, i36, MPI_INTEGER, t, ierr)
    call shape_of(t, 8, nil, i40, 'hvector')
    call MPI_Type_indexed(2, [1, 2], [3, 0], MPI_INTEGER, t, ierr)
    call shape_of(t, 12, nil, i16, 'indexed')
    call MPI_Type_create_hindexed(2, [1, 2], [i12, nil], MPI_INTEGER, t, ierr)
    call shape_of(t, 12, nil, i16, 'hindexed')
    call MPI_Type_create_indexed_block(2, 1, [3, 0], MPI_INTEGER, t, ierr)
    call shape_of(t, 8, nil, i16, 'indexed_block')
    call MPI_Type_create_hindexed_block(2, 1, [i12, nil], MPI_INTEGER, t, ierr)
    call shape_of(t, 8, nil, i16, 'hindexed_block')
    call MPI_Type_create_struct(2, [1, 1], [nil, i8], [MPI_DOUBLE_PRECISION, MPI_REAL8], t, ierr)
    call shape_of(t, 16, nil, i16, 'struct')
    call MPI_Type_create_resized(MPI_INTEGER, nil, i8, t, ierr)
    call shape_of(t, 4, nil, i8, 'resized')
    call MPI_Type_create_subarray(2, [4, 3], [2, 2], [1, 1], MPI_ORDER_FORTRAN, MPI_INTEGER, t, &
                                  ierr)
    call shape_of(t, 16, nil, i48, 'subarray')
    call MPI_Type_create_darray(1, 0, 1, [12], [MPI_DISTRIBUTE_BLOCK], &
                                [MPI_DISTRIBUTE_DFLT_DARG], [1], MPI_ORDER_FORTRAN, MPI_INTEGER, &
                                t, ierr)
    call shape_of(t, 48, nil, i48, 'darray')
    call MPI_Type_dup(MPI_INTEGER8, t, ierr)
    call shape_of(t, 8, nil, i8, 'dup')
  end subroutine constructors

  ! Members of a record and a column of another array, by addresses from MPI_BOTTOM.
  subroutine structures(rank, left, right)
    integer, intent(in) :: rank, left, right
    integer, volatile :: number
    double precision, volatile :: values(4, 3), got(4, 3)
    integer :: t, row, ierr, requests(2)
    integer(MPI_ADDRESS_KIND) :: places(2)
    number = rank
    values = rank
    call MPI_Get_address(number, places(1), ierr)
    call MPI_Get_address(values(1, 2), places(2), ierr)
    call check(MPI_Aint_add(places(1), MPI_Aint_diff(places(2), places(1))) == places(2), &
               'MPI_Aint_add')
    call MPI_Type_create_struct(2, [1, 4], places, [MPI_INTEGER, MPI_DOUBLE_PRECISION], t, ierr)
    call MPI_Type_commit(t, ierr)
    call MPI_Sendrecv_replace(MPI_BOTTOM, 1, t, right, 1, left, 1, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierr)
    call agree(number, left, 'a number from MPI_BOTTOM')
    call check(all(values(:, 2) == left) .and. all(values(:, 1) == rank), 'a column')
    call MPI_Type_free(t, ierr)
    got = -1
    call MPI_Type_vector(3, 1, 4, MPI_DOUBLE_PRECISION, row, ierr)
    call MPI_Type_commit(row, ierr)
    values = rank
    call MPI_Irecv(got(2, 1), 1, row, left, 2, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(values(3, 1), 1, row, right, 2, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call check(all(got(2, :) == left) .and. all(got(1, :) == -1), 'a row')
    call MPI_Type_free(row, ierr)
  end subroutine structures

  subroutine contents()
    integer :: t, inner, ni, na, nd, combiner, ierr, numbers(2), types(1), n
    integer(MPI_ADDRESS_KIND) :: addresses(1)
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Type_contiguous(2, MPI_INTEGER, inner, ierr)
    call MPI_Type_create_hvector(3, 1, 40_MPI_ADDRESS_KIND, inner, t, ierr)
    call MPI_Type_get_envelope(t, ni, na, nd, combiner, ierr)
    call check(ni == 2 .and. na == 1 .and. nd == 1 .and. combiner == MPI_COMBINER_HVECTOR, &
               'MPI_Type_get_envelope')
    types = -1
    call MPI_Type_get_contents(t, 2, 1, 1, numbers, addresses, types, ierr)
    call check(numbers(1) == 3 .and. numbers(2) == 1 .and. addresses(1) == 40, 'the arguments')
    call check(types(1) /= -1, 'the type inside')
    call MPI_Type_get_envelope(types(1), ni, na, nd, combiner, ierr)
    call agree(combiner, MPI_COMBINER_CONTIGUOUS, 'the combiner inside')
    call MPI_Type_free(types(1), ierr)
    call MPI_Type_set_name(t, 'a name  ', ierr)
    name = 'x'
    call MPI_Type_get_name(t, name, n, ierr)
    call check(name == 'a name' .and. n == 6, 'MPI_Type_get_name')
    call MPI_Type_get_name(MPI_REAL, name, n, ierr)
    call check(name(1:n) == 'MPI_REAL', 'the name of MPI_REAL')
    call MPI_Type_free(t, ierr)
    call MPI_Type_free(inner, ierr)
  end subroutine contents

  subroutine packing()
    integer :: room, at, ierr, number
    double precision :: value
    character :: bytes(200)
    integer(MPI_ADDRESS_KIND) :: wide_at, wide_room
    call MPI_Pack_size(1, MPI_INTEGER, MPI_COMM_WORLD, room, ierr)
    call check(room >= 4, 'MPI_Pack_size')
    at = 0
    call MPI_Pack(17, 1, MPI_INTEGER, bytes, 200, at, MPI_COMM_WORLD, ierr)
    call MPI_Pack(2.5d0, 1, MPI_DOUBLE_PRECISION, bytes, 200, at, MPI_COMM_WORLD, ierr)
    at = 0
    call MPI_Unpack(bytes, 200, at, number, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call MPI_Unpack(bytes, 200, at, value, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call check(number == 17 .and. value == 2.5d0, 'MPI_Unpack')
    call MPI_Pack_external_size('external32', 1, MPI_INTEGER, wide_room, ierr)
    call check(wide_room == 4, 'MPI_Pack_external_size')
    wide_at = 0
    call MPI_Pack_external('external32', 258, 1, MPI_INTEGER, bytes, 200_MPI_ADDRESS_KIND, &
                           wide_at, ierr)
    call check(wide_at == 4 .and. ichar(bytes(4)) == 2 .and. ichar(bytes(3)) == 1, 'big-endian')
    wide_at = 0
    call MPI_Unpack_external('external32  ', bytes, 200_MPI_ADDRESS_KIND, wide_at, number, 1, &
                             MPI_INTEGER, ierr)
    call agree(number, 258, 'MPI_Unpack_external')
  end subroutine packing

  subroutine attributes()
    use of_types
    integer :: t, copy, key, ierr
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Type_create_keyval(copied, deleted, key, 77_MPI_ADDRESS_KIND, ierr)
    call MPI_Type_contiguous(2, MPI_INTEGER, t, ierr)
    call MPI_Type_get_attr(t, key, value, flag, ierr)
    call check(.not. flag, 'no attribute yet')
    call MPI_Type_set_attr(t, key, 5000000000_MPI_ADDRESS_KIND, ierr)
    call MPI_Type_dup(t, copy, ierr)
    call MPI_Type_get_attr(copy, key, value, flag, ierr)
    call check(flag .and. value == 5000000001_MPI_ADDRESS_KIND, 'a copied attribute')
    call MPI_Type_delete_attr(copy, key, ierr)
    call check(copies == 1 .and. deletes == 1, 'functions of types')
    call MPI_Type_free(copy, ierr)
    call MPI_Type_free(t, ierr)
    call agree(deletes, 2, 'deleted with the type')
    call MPI_Type_free_keyval(key, ierr)
    call agree(key, MPI_KEYVAL_INVALID, 'MPI_Type_free_keyval')
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, key, &
                                0_MPI_ADDRESS_KIND, ierr)
    call MPI_Type_contiguous(2, MPI_INTEGER, t, ierr)
    call MPI_Type_set_attr(t, key, -3_MPI_ADDRESS_KIND, ierr)
    call MPI_Type_dup(t, copy, ierr)
    call MPI_Type_get_attr(copy, key, value, flag, ierr)
    call check(flag .and. value == -3, 'MPI_TYPE_DUP_FN')
    call MPI_Type_free(t, ierr)
    call MPI_Type_free(copy, ierr)
    call MPI_Type_free_keyval(key, ierr)
  end subroutine attributes

  subroutine of_kinds()
    integer :: t, ierr, bytes, sum
    integer, parameter :: long = selected_int_kind(18), precise = selected_real_kind(15, 300)
    integer(long) :: i, column(3)
    real(precise) :: x
    complex :: z
    call MPI_Type_create_f90_integer(18, t, ierr)
    call MPI_Sizeof(i, bytes, ierr)
    call agree(bytes, 8, 'MPI_Sizeof')
    call MPI_Type_size(t, sum, ierr)
    call agree(sum, bytes, 'MPI_Type_create_f90_integer')
    i = 3
    call MPI_Allreduce(MPI_IN_PLACE, i, 1, t, MPI_MAX, MPI_COMM_WORLD, ierr)
    call check(i == 3, 'a kind in a reduction')
    call MPI_Type_create_f90_real(15, 300, t, ierr)
    call MPI_Type_size(t, sum, ierr)
    call MPI_Sizeof(x, bytes, ierr)
    call agree(sum, bytes, 'MPI_Type_create_f90_real')
    call MPI_Type_create_f90_complex(6, MPI_UNDEFINED, t, ierr)
    call MPI_Type_size(t, sum, ierr)
    call MPI_Sizeof(z, bytes, ierr)
    call agree(sum, bytes, 'MPI_Type_create_f90_complex')
    call MPI_Sizeof(column, bytes, ierr)
    call agree(bytes, 8, 'MPI_Sizeof of an array')
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, t, ierr)
    call check(t == MPI_DOUBLE_PRECISION .or. t == MPI_REAL8, 'MPI_Type_match_size')
  end subroutine of_kinds
end program types
