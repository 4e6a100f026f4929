! ours: what Open MPI 4.1 and MPICH 4.0 do not have, or not alike, with the module mpi.
program ours
  use mpi
  implicit none
  integer :: rank, size, left, right
  call begin(rank, size, left, right)
  call persistent(rank, size)
  call neighbours(rank, size, left, right)
  call partitions(rank, size, left, right)
  call removed()
  call contents()
  call statuses()
  call hints()
  call own_errors()
  call sizes()
  call memory()
  call profiled(rank, size)
  call conclude()

contains

  ! Twice each.
  subroutine persistent(rank, size)
    integer, intent(in) :: rank, size
    integer, volatile :: in(64), one(9), all(64, 7)
    integer :: r(17), counts(64), displs(64), bytes(64), types(64), i, turn, ierr, last, sum
    do i = 1, size
      in(i) = 100 * rank + i - 1
    end do
    counts = 1
    displs = [(i - 1, i = 1, 64)]
    bytes = 4 * displs
    types = MPI_INTEGER
    associate (c => MPI_COMM_WORLD, t => MPI_INTEGER, n => MPI_INFO_NULL)
      call MPI_Barrier_init(c, n, r(1), ierr)
      call MPI_Bcast_init(one(1), 1, t, 0, c, n, r(2), ierr)
      call MPI_Reduce_init(rank, one(2), 1, t, MPI_SUM, 0, c, n, r(3), ierr)
      call MPI_Allreduce_init(rank, one(3), 1, t, MPI_SUM, c, n, r(4), ierr)
      call MPI_Scan_init(rank, one(4), 1, t, MPI_SUM, c, n, r(5), ierr)
      call MPI_Exscan_init(rank, one(5), 1, t, MPI_SUM, c, n, r(6), ierr)
      call MPI_Allgather_init(rank, 1, t, all(1, 1), 1, t, c, n, r(7), ierr)
      call MPI_Allgatherv_init(rank, 1, t, all(1, 2), counts, displs, t, c, n, r(8), ierr)
      call MPI_Alltoall_init(in, 1, t, all(1, 3), 1, t, c, n, r(9), ierr)
      call MPI_Alltoallv_init(in, counts, displs, t, all(1, 4), counts, displs, t, c, n, r(10), &
                              ierr)
      call MPI_Alltoallw_init(in, counts, bytes, types, all(1, 5), counts, bytes, types, c, n, &
                              r(11), ierr)
      call MPI_Gather_init(rank, 1, t, all(1, 6), 1, t, 0, c, n, r(12), ierr)
      call MPI_Gatherv_init(rank, 1, t, all(1, 7), counts, displs, t, 0, c, n, r(13), ierr)
      call MPI_Scatter_init(in, 1, t, one(6), 1, t, 0, c, n, r(14), ierr)
      call MPI_Scatterv_init(in, counts, displs, t, one(7), 1, t, 0, c, n, r(15), ierr)
      call MPI_Reduce_scatter_block_init(in, one(8), 1, t, MPI_SUM, c, n, r(16), ierr)
      call MPI_Reduce_scatter_init(in, one(9), counts, t, MPI_SUM, c, n, r(17), ierr)
    end associate
    sum = size * (size - 1) / 2
    last = 100 * (size - 1) + rank
    do turn = 1, 2
      one = -1
      one(1) = merge(turn, -1, rank == 0)
      all = -1
      call MPI_Startall(17, r, ierr)
      call MPI_Waitall(17, r, MPI_STATUSES_IGNORE, ierr)
      call agree(ierr, MPI_SUCCESS, 'persistent collectives')
      call agree(one(1), turn, 'MPI_Bcast_init')
      if (rank == 0) call agree(one(2), sum, 'MPI_Reduce_init')
      call agree(one(3), sum, 'MPI_Allreduce_init')
      call agree(one(4), rank * (rank + 1) / 2, 'MPI_Scan_init')
      if (rank > 0) call agree(one(5), rank * (rank - 1) / 2, 'MPI_Exscan_init')
      call check(all(size, 1) == size - 1 .and. all(size, 2) == size - 1, 'MPI_Allgather_init')
      call check(all(size, 3) == last .and. all(size, 4) == last, 'MPI_Alltoall_init')
      call agree(all(size, 5), last, 'MPI_Alltoallw_init')
      if (rank == 0) call check(all(size, 6) == size - 1, 'MPI_Gather_init')
      if (rank == 0) call check(all(size, 7) == size - 1, 'MPI_Gatherv_init')
      call check(one(6) == rank .and. one(7) == rank, 'MPI_Scatter_init')
      call agree(one(8), 100 * sum + size * rank, 'MPI_Reduce_scatter_block_init')
      call agree(one(9), one(8), 'MPI_Reduce_scatter_init')
    end do
    do i = 1, 17
      call MPI_Request_free(r(i), ierr)
    end do
  end subroutine persistent

  subroutine neighbours(rank, size, left, right)
    integer, intent(in) :: rank, size, left, right
    integer, volatile :: out(2, 5)
    integer :: comm, ierr, in(2), counts(2), displs(2), types(2), r(5), i, n
    integer(MPI_ADDRESS_KIND) :: bytes(2)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.true.], .false., comm, ierr)
    in = [10 * rank, 10 * rank + 1]
    counts = 1
    displs = [0, 1]
    bytes = [0, 4]
    types = MPI_INTEGER
    out = -1
    n = MPI_INFO_NULL
    call MPI_Neighbor_allgather_init(rank, 1, MPI_INTEGER, out(1, 1), 1, MPI_INTEGER, comm, n, &
                                     r(1), ierr)
    call MPI_Neighbor_allgatherv_init(rank, 1, MPI_INTEGER, out(1, 2), counts, displs, &
                                      MPI_INTEGER, comm, n, r(2), ierr)
    call MPI_Neighbor_alltoall_init(in, 1, MPI_INTEGER, out(1, 3), 1, MPI_INTEGER, comm, n, &
                                    r(3), ierr)
    call MPI_Neighbor_alltoallv_init(in, counts, displs, MPI_INTEGER, out(1, 4), counts, displs, &
                                     MPI_INTEGER, comm, n, r(4), ierr)
    call MPI_Neighbor_alltoallw_init(in, counts, bytes, types, out(1, 5), counts, bytes, types, &
                                     comm, n, r(5), ierr)
    call MPI_Startall(5, r, ierr)
    call MPI_Waitall(5, r, MPI_STATUSES_IGNORE, ierr)
    do i = 1, 2
      call check(out(1, i) == left .and. out(2, i) == right, 'gathered')
    end do
    do i = 3, 5
      call check(out(1, i) == 10 * left + 1 .and. out(2, i) == 10 * right, 'swapped')
    end do
    do i = 1, 5
      call MPI_Request_free(r(i), ierr)
    end do
    call MPI_Comm_free(comm, ierr)
  end subroutine neighbours

  subroutine partitions(rank, size, left, right)
    integer, intent(in) :: rank, size, left, right
    integer :: sent(4), r(2), ierr
    integer, volatile :: got(4)
    logical :: flag
    if (size == 1) return
    got = -1
    sent = rank
    call MPI_Psend_init(sent, 4, 1_MPI_COUNT_KIND, MPI_INTEGER, right, 3, MPI_COMM_WORLD, &
                        MPI_INFO_NULL, r(1), ierr)
    call MPI_Precv_init(got, 4, 1_MPI_COUNT_KIND, MPI_INTEGER, left, 3, MPI_COMM_WORLD, &
                        MPI_INFO_NULL, r(2), ierr)
    call MPI_Startall(2, r, ierr)
    call MPI_Pready(0, r(1), ierr)
    call MPI_Pready_range(1, 2, r(1), ierr)
    call MPI_Pready_list(1, [3], r(1), ierr)
    flag = .false.
    do while (.not. flag)
      call MPI_Parrived(r(2), 3, flag, ierr)
    end do
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)
    call check(all(got == left), 'MPI_Psend_init')
    call MPI_Request_free(r(1), ierr)
    call MPI_Request_free(r(2), ierr)
  end subroutine partitions

  ! Extents and displacements are default integers.
  subroutine removed()
    integer :: t, n, ierr, handler, place
    call MPI_Type_struct(2, [1, 1], [0, 8], [MPI_INTEGER, MPI_INTEGER], t, ierr)
    call MPI_Type_extent(t, n, ierr)
    call agree(n, 12, 'MPI_Type_struct')
    call MPI_Type_free(t, ierr)
    call MPI_Type_hindexed(2, [1, 1], [4, 16], MPI_INTEGER, t, ierr)
    call MPI_Type_lb(t, n, ierr)
    call agree(n, 4, 'MPI_Type_lb')
    call MPI_Type_ub(t, n, ierr)
    call agree(n, 20, 'MPI_Type_ub')
    call MPI_Type_free(t, ierr)
    call MPI_Type_hvector(3, 1, 8, MPI_INTEGER, t, ierr)
    call MPI_Type_extent(t, n, ierr)
    call agree(n, 20, 'MPI_Type_hvector')
    call MPI_Type_free(t, ierr)
    call MPI_Address(MPI_BOTTOM, place, ierr)
    call agree(place, 0, 'MPI_Address')
    call MPI_Errhandler_get(MPI_COMM_SELF, handler, ierr)
    call agree(handler, MPI_ERRORS_RETURN, 'MPI_Errhandler_get')
    call MPI_Errhandler_create(ignore, handler, ierr)
    call MPI_Errhandler_set(MPI_COMM_SELF, handler, ierr)
    call MPI_Errhandler_free(handler, ierr)
    call MPI_Send(n, 1, MPI_INTEGER, 7, 0, MPI_COMM_SELF, ierr)
    call check(ierr /= MPI_SUCCESS, 'MPI_Errhandler_set')
    call MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
  end subroutine removed

  subroutine ignore(comm, code)
    integer :: comm, code
    call check(comm == MPI_COMM_SELF .and. code /= MPI_SUCCESS, 'MPI_Errhandler_create')
  end subroutine ignore

  ! More room than there is to say, and more handles than few.
  subroutine contents()
    integer :: t, i, ierr, numbers(50), types(30), inside(20)
    integer(MPI_ADDRESS_KIND) :: places(20)
    inside = MPI_INTEGER
    call MPI_Type_contiguous(2, MPI_INTEGER, inside(20), ierr)
    places = [(8 * i, i = 1, 20)]
    call MPI_Type_create_struct(20, [(1, i = 1, 20)], places, inside, t, ierr)
    types = -1
    call MPI_Type_get_contents(t, 50, 20, 30, numbers, places, types, ierr)
    call check(all(types(1:19) == MPI_INTEGER) .and. all(types(21:) == -1), 'its types')
    call agree(types(20), inside(20), 'the type inside')
    call MPI_Type_free(types(20), ierr)
    call MPI_Type_free(inside(20), ierr)
    call MPI_Type_free(t, ierr)
  end subroutine contents

  subroutine statuses()
    integer :: status(MPI_STATUS_SIZE), n, ierr
    integer(MPI_COUNT_KIND) :: many
    call MPI_Status_set_source(status, 3, ierr)
    call MPI_Status_set_tag(status, 4, ierr)
    call MPI_Status_set_error(status, 5, ierr)
    call check(status(MPI_SOURCE) == 3 .and. status(MPI_TAG) == 4, 'MPI_Status_set_source')
    call agree(status(MPI_ERROR), 5, 'MPI_Status_set_error')
    status(MPI_TAG) = 6
    call MPI_Status_get_source(status, n, ierr)
    call agree(n, 3, 'MPI_Status_get_source')
    call MPI_Status_get_tag(status, n, ierr)
    call agree(n, 6, 'MPI_Status_get_tag')
    call MPI_Status_get_error(status, n, ierr)
    call agree(n, 5, 'MPI_Status_get_error')
    call MPI_Status_set_elements_x(status, MPI_INTEGER, 5000000000_MPI_COUNT_KIND, ierr)
    call MPI_Get_elements_x(status, MPI_INTEGER, many, ierr)
    call check(many == 5000000000_MPI_COUNT_KIND, 'MPI_Get_elements_x')
  end subroutine statuses

  subroutine hints()
    integer :: info, n, ierr
    logical :: flag
    character(len=8) :: value
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, 'key', 'abcdef', ierr)
    n = 0
    call MPI_Info_get_string(info, 'key', n, value, flag, ierr)
    call check(flag .and. n == 6, 'MPI_Info_get_string: the length')
    value = '--------'
    n = 8
    call MPI_Info_get_string(info, ' key ', n, value, flag, ierr)
    call check(flag .and. n == 6 .and. value == 'abcdef', 'MPI_Info_get_string')
    value = '--------'
    n = 3
    call MPI_Info_get_string(info, 'key', n, value, flag, ierr)
    call check(n == 6 .and. value == 'abc', 'MPI_Info_get_string of a part')
    call MPI_Comm_set_info(MPI_COMM_SELF, info, ierr)
    call MPI_Info_free(info, ierr)
    call MPI_Comm_get_info(MPI_COMM_SELF, info, ierr)
    call check(ierr == MPI_SUCCESS .and. info /= MPI_INFO_NULL, 'MPI_Comm_get_info')
    call MPI_Info_free(info, ierr)
    call MPI_Info_create_env(info, ierr)
    call agree(ierr, MPI_SUCCESS, 'MPI_Info_create_env')
    call MPI_Info_free(info, ierr)
  end subroutine hints

  subroutine own_errors()
    integer :: class, code, ierr
    call MPI_Add_error_class(class, ierr)
    call MPI_Add_error_code(class, code, ierr)
    call MPI_Add_error_string(code, 'text', ierr)
    call MPI_Remove_error_string(code, ierr)
    call MPI_Remove_error_code(code, ierr)
    call MPI_Remove_error_class(class, ierr)
    call agree(ierr, MPI_SUCCESS, 'MPI_Remove_error_class')
  end subroutine own_errors

  subroutine sizes()
    integer :: n, ierr
    double precision :: table(2, 2)
    logical(1) :: small
    complex(8) :: z(1, 1, 1)
    call MPI_Sizeof(table, n, ierr)
    call agree(n, 8, 'MPI_Sizeof of a table')
    call MPI_Sizeof(small, n, ierr)
    call agree(n, 1, 'MPI_Sizeof of a logical')
    call MPI_Sizeof(z, n, ierr)
    call agree(n, 16, 'MPI_Sizeof of complex numbers')
  end subroutine sizes

  subroutine memory()
    use, intrinsic :: iso_c_binding
    type(c_ptr) :: place
    integer(MPI_ADDRESS_KIND) :: address
    integer, pointer :: numbers(:)
    integer :: ierr
    call MPI_Alloc_mem(400_MPI_ADDRESS_KIND, MPI_INFO_NULL, place, ierr)
    call c_f_pointer(place, numbers, [100])
    numbers = 3
    call check(sum(numbers) == 300, 'MPI_Alloc_mem')
    call MPI_Free_mem(numbers, ierr)
    call agree(ierr, MPI_SUCCESS, 'MPI_Free_mem')
    call MPI_Alloc_mem(400_MPI_ADDRESS_KIND, MPI_INFO_NULL, address, ierr)
    call check(address /= 0, 'MPI_Alloc_mem as an address')
    call MPI_Buffer_flush(ierr)
    call buffers()
    call MPIX_Comm_set_partial(MPI_COMM_SELF, 0, ierr)
    call agree(ierr, MPI_SUCCESS, 'MPIX_Comm_set_partial')
  end subroutine memory

  ! Of a communicator, and one that grows; messages in both directions; several at once.
  subroutine buffers()
    integer :: place(200), n, ierr, r(2), two(2), at, many, places(2), s(MPI_STATUS_SIZE, 2)
    integer, volatile :: got
    logical :: flag
    call MPI_Comm_attach_buffer(MPI_COMM_SELF, place, 800, ierr)
    call MPI_Bsend(17, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, ierr)
    call MPI_Recv(n, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
    call MPI_Comm_flush_buffer(MPI_COMM_SELF, ierr)
    call MPI_Comm_detach_buffer(MPI_COMM_SELF, place, n, ierr)
    call agree(n, 800, 'MPI_Comm_detach_buffer')
    call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0, ierr)
    call agree(ierr, MPI_SUCCESS, 'MPI_BUFFER_AUTOMATIC')
    call MPI_Bsend(18, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, ierr)
    call MPI_Recv(n, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
    call agree(n, 18, 'MPI_Bsend from it')
    call MPI_Buffer_detach(place, n, ierr)
    got = 0
    call MPI_Isendrecv(19, 1, MPI_INTEGER, 0, 2, got, 1, MPI_INTEGER, 0, 2, MPI_COMM_SELF, r(1), &
                       ierr)
    two = 20
    call MPI_Isendrecv_replace(two, 2, MPI_INTEGER, 0, 3, 0, 3, MPI_COMM_SELF, r(2), ierr)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status_all(2, r, flag, s, ierr)
    end do
    call check(s(MPI_TAG, 1) == 2 .and. s(MPI_TAG, 2) == 3, 'MPI_Request_get_status_all')
    call MPI_Request_get_status_any(2, r, at, flag, s, ierr)
    call check(flag .and. (at == 1 .or. at == 2), 'MPI_Request_get_status_any')
    call MPI_Request_get_status_some(2, r, many, places, s, ierr)
    call check(many == 2 .and. all(places == [1, 2]), 'MPI_Request_get_status_some')
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)
    call agree(got, 19, 'MPI_Isendrecv')
  end subroutine buffers

  ! The names that tools call.
  subroutine profiled(rank, size)
    integer, intent(in) :: rank, size
    integer :: sum, ierr
    external :: PMPI_Allreduce
    sum = rank
    call PMPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call agree(sum, size * (size - 1) / 2, 'PMPI_Allreduce')
  end subroutine profiled
end program ours
