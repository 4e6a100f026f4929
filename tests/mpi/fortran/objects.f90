! objects: groups, communicators, attributes, error handlers, info, with the module mpi.
module of_objects
  use mpi
  implicit none
  integer, save :: copies = 0, deletes = 0, errors = 0, failed = MPI_COMM_NULL, &
    ends = 0, cancels = 0
contains
  subroutine copied(oldcomm, keyval, extra, value, copy, flag, ierror)
    integer :: oldcomm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value, copy
    logical :: flag
    copies = copies + 1
    copy = value + extra
    flag = value /= 13
    ierror = MPI_SUCCESS
  end subroutine copied

  subroutine deleted(comm, keyval, value, extra, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value
    deletes = deletes + 1
    ierror = MPI_SUCCESS
  end subroutine deleted

  subroutine happened(comm, code)
    integer :: comm, code
    errors = errors + 1
    failed = comm
  end subroutine happened

  subroutine queried(extra, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierror
    status(MPI_SOURCE) = int(extra)
    status(MPI_TAG) = 8
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
  end subroutine queried

  subroutine freed(extra, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    ends = ends + int(extra)
    ierror = MPI_SUCCESS
  end subroutine freed

  subroutine asked_to_cancel(extra, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    cancels = cancels + merge(100, int(extra), complete)
    ierror = MPI_SUCCESS
  end subroutine asked_to_cancel
end module of_objects

program objects
  use mpi
  implicit none
  integer :: rank, size, left, right
  call begin(rank, size, left, right)
  call environment()
  call groups(rank, size)
  call communicators(rank, size)
  call attributes()
  call predefined()
  call handlers(rank)
  call own_errors()
  call generalized()
  call hints()
  call conclude()

contains

  subroutine environment()
    integer :: n, ierr, major, minor, level
    double precision :: before
    logical :: flag
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    before = MPI_Wtime()
    call check(MPI_Wtick() > 0 .and. MPI_Wtime() >= before, 'MPI_Wtime')
    call MPI_Get_version(major, minor, ierr)
    call check(major == MPI_VERSION .and. minor == MPI_SUBVERSION, 'MPI_Get_version')
    call MPI_Get_processor_name(name, n, ierr)
    call check(n > 0 .and. name(n:n) /= ' ' .and. name(n+1:) == ' ', 'MPI_Get_processor_name')
    call MPI_Get_library_version(version, n, ierr)
    call check(n > 0 .and. version(n+1:) == ' ', 'MPI_Get_library_version')
    call MPI_Initialized(flag, ierr)
    call check(flag, 'MPI_Initialized')
    call MPI_Finalized(flag, ierr)
    call check(.not. flag, 'MPI_Finalized')
    call MPI_Query_thread(level, ierr)
    call check(level >= MPI_THREAD_SINGLE, 'MPI_Query_thread')
    call MPI_Is_thread_main(flag, ierr)
    call check(flag, 'MPI_Is_thread_main')
    call MPI_Pcontrol(1)
  end subroutine environment

  subroutine groups(rank, size)
    integer, intent(in) :: rank, size
    integer :: world, odd, even, all, n, ierr, found, ranks(1), ranges(3, 1), self
    call MPI_Comm_group(MPI_COMM_WORLD, world, ierr)
    call MPI_Group_size(world, n, ierr)
    call agree(n, size, 'MPI_Group_size')
    call MPI_Group_rank(world, n, ierr)
    call agree(n, rank, 'MPI_Group_rank')
    ranges(:, 1) = [0, size - 1, 2]
    call MPI_Group_range_incl(world, 1, ranges, even, ierr)
    call MPI_Group_range_excl(world, 1, ranges, odd, ierr)
    call MPI_Group_size(even, n, ierr)
    call agree(n, (size + 1) / 2, 'MPI_Group_range_incl')
    call MPI_Group_union(even, odd, all, ierr)
    call MPI_Group_compare(all, world, found, ierr)
    call check(found == MPI_SIMILAR .or. size < 3, 'MPI_Group_union')
    call MPI_Group_free(all, ierr)
    call MPI_Group_intersection(even, odd, all, ierr)
    call MPI_Group_size(all, n, ierr)
    call agree(n, 0, 'MPI_Group_intersection')
    call MPI_Group_difference(world, odd, self, ierr)
    call MPI_Group_compare(self, even, found, ierr)
    call agree(found, MPI_IDENT, 'MPI_Group_difference')
    call MPI_Group_free(self, ierr)
    call MPI_Group_incl(world, 1, [rank], self, ierr)
    call MPI_Group_translate_ranks(self, 1, [0], world, ranks, ierr)
    call agree(ranks(1), rank, 'MPI_Group_translate_ranks')
    call MPI_Group_free(self, ierr)
    call MPI_Group_excl(world, 1, [rank], self, ierr)
    call MPI_Group_rank(self, n, ierr)
    call agree(n, MPI_UNDEFINED, 'MPI_Group_excl')
    call MPI_Group_free(self, ierr)
    call agree(self, MPI_GROUP_NULL, 'MPI_Group_free')
    call MPI_Group_free(even, ierr)
    call MPI_Group_free(odd, ierr)
    call MPI_Group_free(world, ierr)
  end subroutine groups

  subroutine communicators(rank, size)
    integer, intent(in) :: rank, size
    integer :: comm, other, group, n, ierr, found, request
    logical :: flag
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_compare(comm, MPI_COMM_WORLD, found, ierr)
    call agree(found, MPI_CONGRUENT, 'MPI_Comm_compare')
    call MPI_Comm_set_name(comm, ' named ', ierr)
    name = 'x'
    call MPI_Comm_get_name(comm, name, n, ierr)
    call check(name(n:n) == 'd' .and. name(n+1:) == ' ', 'MPI_Comm_get_name')
    call MPI_Comm_test_inter(comm, flag, ierr)
    call check(.not. flag, 'MPI_Comm_test_inter')
    call MPI_Comm_group(comm, group, ierr)
    call MPI_Comm_create(comm, group, other, ierr)
    call MPI_Comm_rank(other, n, ierr)
    call agree(n, rank, 'MPI_Comm_create')
    call MPI_Comm_free(other, ierr)
    call MPI_Group_free(group, ierr)
    call MPI_Comm_idup(comm, other, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call MPI_Comm_size(other, n, ierr)
    call agree(n, size, 'MPI_Comm_idup')
    call MPI_Comm_free(other, ierr)
    call agree(other, MPI_COMM_NULL, 'MPI_Comm_free')
    call MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, other, ierr)
    call MPI_Comm_free(other, ierr)
    call MPI_Comm_split(comm, 0, -rank, other, ierr)
    call MPI_Comm_rank(other, n, ierr)
    call agree(n, size - 1 - rank, 'MPI_Comm_split')
    call MPI_Comm_free(other, ierr)
    call MPI_Comm_split(comm, MPI_UNDEFINED, 0, other, ierr)
    call agree(other, MPI_COMM_NULL, 'no part')
    call MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, other, ierr)
    call MPI_Comm_free(other, ierr)
    call MPI_Comm_free(comm, ierr)
  end subroutine communicators

  subroutine attributes()
    use of_objects
    integer :: comm, copy, key, ierr, old_key, old_value
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_create_keyval(copied, deleted, key, 100_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
    call MPI_Comm_set_attr(comm, key, 7000000000_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_get_attr(comm, key, value, flag, ierr)
    call check(flag .and. value == 7000000000_MPI_ADDRESS_KIND, 'MPI_Comm_get_attr')
    call MPI_Comm_dup(comm, copy, ierr)
    call MPI_Comm_get_attr(copy, key, value, flag, ierr)
    call check(flag .and. value == 7000000100_MPI_ADDRESS_KIND, 'copied')
    call MPI_Comm_free(copy, ierr)
    call check(copies == 1 .and. deletes == 1, 'functions of communicators')
    call MPI_Comm_set_attr(comm, key, 13_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_dup(comm, copy, ierr)
    call MPI_Comm_get_attr(copy, key, value, flag, ierr)
    call check(.not. flag, 'a function that does not copy')
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_delete_attr(comm, key, ierr)
    call MPI_Comm_free_keyval(key, ierr)
    call agree(key, MPI_KEYVAL_INVALID, 'MPI_Comm_free_keyval')
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, &
                                0_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_set_attr(comm, key, 1_MPI_ADDRESS_KIND, ierr)
    call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, old_key, 0, ierr)
    call MPI_Attr_put(comm, old_key, -5, ierr)
    call MPI_Comm_dup(comm, copy, ierr)
    call MPI_Comm_get_attr(copy, key, value, flag, ierr)
    call check(.not. flag, 'MPI_COMM_NULL_COPY_FN')
    call MPI_Attr_get(copy, old_key, old_value, flag, ierr)
    call check(flag .and. old_value == -5, 'MPI_DUP_FN')
    call MPI_Attr_delete(copy, old_key, ierr)
    call MPI_Attr_get(copy, old_key, old_value, flag, ierr)
    call check(.not. flag, 'MPI_Attr_delete')
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_free(comm, ierr)
    call MPI_Keyval_free(old_key, ierr)
    call MPI_Comm_free_keyval(key, ierr)
  end subroutine attributes

  subroutine predefined()
    integer(MPI_ADDRESS_KIND) :: value
    integer :: old_value, ierr
    logical :: flag
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call check(flag .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, old_value, flag, ierr)
    call check(flag .and. old_value >= 32767, 'MPI_TAG_UB by MPI_Attr_get')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, value, flag, ierr)
    call check(.not. flag .or. value > 0, 'MPI_UNIVERSE_SIZE')
  end subroutine predefined

  subroutine handlers(rank)
    use of_objects
    integer, intent(in) :: rank
    integer :: handler, comm, found, ierr, class, ierr2
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_create_errhandler(happened, handler, ierr)
    call MPI_Comm_set_errhandler(comm, handler, ierr)
    call MPI_Comm_get_errhandler(comm, found, ierr)
    call MPI_Errhandler_free(handler, ierr)
    call agree(handler, MPI_ERRHANDLER_NULL, 'MPI_Errhandler_free')
    call MPI_Send(rank, -1, MPI_INTEGER, 0, 0, comm, ierr)
    call MPI_Error_class(ierr, class, ierr2)
    call agree(class, MPI_ERR_COUNT, 'an error')
    call check(errors == 1 .and. failed == comm, 'the handler was called')
    call MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER, ierr)
    call agree(errors, 2, 'MPI_Comm_call_errhandler')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, found, ierr)
    call MPI_Errhandler_free(found, ierr)
    call MPI_Send(rank, 1, MPI_INTEGER, 5, 0, MPI_COMM_SELF, ierr)
    call check(errors == 3 .and. failed == MPI_COMM_SELF, 'it lives on')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
    call MPI_Comm_free(comm, ierr)
  end subroutine handlers

  subroutine own_errors()
    integer :: class, code, found, n, ierr
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Add_error_class(class, ierr)
    call MPI_Add_error_code(class, code, ierr)
    call MPI_Add_error_string(code, 'of my own   ', ierr)
    call MPI_Error_class(code, found, ierr)
    call agree(found, class, 'MPI_Add_error_code')
    call MPI_Error_string(code, text, n, ierr)
    call check(text == 'of my own', 'MPI_Add_error_string')
  end subroutine own_errors

  subroutine generalized()
    use of_objects
    integer :: request, ierr, n, status(MPI_STATUS_SIZE)
    logical :: flag
    call MPI_Grequest_start(queried, freed, asked_to_cancel, 7_MPI_ADDRESS_KIND, request, ierr)
    call MPI_Test(request, flag, status, ierr)
    call check(.not. flag, 'a generalized request')
    call MPI_Cancel(request, ierr)
    call agree(cancels, 7, 'its cancel function')
    call MPI_Grequest_complete(request, ierr)
    call MPI_Wait(request, status, ierr)
    call agree(status(MPI_SOURCE), 7, 'its source')
    call MPI_Get_count(status, MPI_INTEGER, n, ierr)
    call agree(n, 3, 'its elements')
    call check(ends == 7 .and. request == MPI_REQUEST_NULL, 'its free function')
  end subroutine generalized

  subroutine hints()
    integer :: info, copy, n, ierr
    logical :: flag
    character(len=MPI_MAX_INFO_KEY) :: key
    character(len=10) :: value
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, ' first ', ' one two ', ierr)
    call MPI_Info_set(info, 'second', 'x', ierr)
    call MPI_Info_get_nkeys(info, n, ierr)
    call agree(n, 2, 'MPI_Info_get_nkeys')
    call MPI_Info_get_nthkey(info, 0, key, ierr)
    call check(key == 'first', 'MPI_Info_get_nthkey')
    value = '----------'
    call MPI_Info_get(info, 'first', 10, value, flag, ierr)
    call check(flag .and. value == 'one two', 'MPI_Info_get')
    call MPI_Info_get(info, 'third', 10, value, flag, ierr)
    call check(.not. flag, 'MPI_Info_get of nothing')
    call MPI_Info_get_valuelen(info, 'first ', n, flag, ierr)
    call check(flag .and. n == 7, 'MPI_Info_get_valuelen')
    call MPI_Info_dup(info, copy, ierr)
    call MPI_Info_delete(info, 'first', ierr)
    call MPI_Info_get_nkeys(info, n, ierr)
    call agree(n, 1, 'MPI_Info_delete')
    call MPI_Info_get_nkeys(copy, n, ierr)
    call agree(n, 2, 'MPI_Info_dup')
    call MPI_Info_free(info, ierr)
    call MPI_Info_free(copy, ierr)
    call agree(copy, MPI_INFO_NULL, 'MPI_Info_free')
  end subroutine hints
end program objects
