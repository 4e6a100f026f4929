! Blocking collectives as Fortran calls them, by `use mpi` or (-DHEADER) mpif.h: with MPI_IN_PLACE,
! with MPI_BOTTOM, and with types of Fortran.
program collectives
#ifndef HEADER
  use mpi
#endif
  implicit none
#ifdef HEADER
  include 'mpif.h'
#endif
  integer :: code, rank, ranks, i, round
  integer :: value(3), total(3), all(64), counts(64), displs(64), many(64)
  double precision :: x(2), y(2)
  complex :: z
  integer :: bottom, lengths(1)
  integer(kind=MPI_ADDRESS_KIND) :: places(1)

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  do round = 1, 3
    value = (/ rank, rank + 1, 5 /)
    call MPI_Allreduce(value, total, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call check(total(1) == ranks * (ranks - 1) / 2 .and. total(3) == 5 * ranks, 1)
    call MPI_Allreduce(MPI_IN_PLACE, value, 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, code)
    call check(value(2) == ranks, 2)
    x = (/ dble(rank), 0.5d0 /)
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, x, 2, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, code)
      call check(x(2) == 0.5d0 * ranks, 3)
    else
      call MPI_Reduce(x, y, 2, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, code)
    end if
    z = cmplx(1, rank)
    call MPI_Allreduce(MPI_IN_PLACE, z, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, code)
    call check(z == cmplx(ranks, ranks * (ranks - 1) / 2), 4)
    value = rank + 1
    call MPI_Scan(value, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call check(total(1) == (rank + 1) * (rank + 2) / 2, 5)
    call MPI_Exscan(value, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call check(rank == 0 .or. total(1) == rank * (rank + 1) / 2, 6)
    many = rank
    call MPI_Reduce_scatter_block(many, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call check(total(1) == ranks * (ranks - 1) / 2, 7)
    counts = 2
    call MPI_Reduce_scatter(many, total, counts, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, code)
    call check(total(2) == ranks - 1, 8)
    call blocks()

    ! At its address: only rank 0 says so.
    bottom = merge(4711, -1, rank == 0)
    call MPI_Get_address(bottom, places(1), code)
    lengths(1) = 1
    call MPI_Type_create_hindexed(1, lengths, places, MPI_INTEGER, i, code)
    call MPI_Type_commit(i, code)
    if (rank == 0) then
      call MPI_Bcast(MPI_BOTTOM, 1, i, 0, MPI_COMM_WORLD, code)
    else
      call MPI_Bcast(bottom, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    end if
    call check(bottom == 4711, 9)
    call MPI_Type_free(i, code)
    call MPI_Barrier(MPI_COMM_WORLD, code)
  end do
  call MPI_Finalize(code)

contains

  subroutine blocks()
    all = -1
    call MPI_Allgather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    call check(are_ranks(all), 10)
    all = -1
    all(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INTEGER, &
                       MPI_COMM_WORLD, code)
    call check(are_ranks(all), 11)
    many = rank
    call MPI_Alltoall(many, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    call check(are_ranks(all), 12)
    all = -1
    call MPI_Gather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    call check(rank /= 0 .or. are_ranks(all), 13)
    value = -1
    if (rank == 0) then
      call MPI_Scatter(all, 1, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    else
      call MPI_Scatter(all, 1, MPI_INTEGER, value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    end if
    call check(rank == 0 .or. value(1) == rank, 14)
    counts = 1
    do i = 1, ranks
      displs(i) = i - 1
    end do
    all = -1
    call MPI_Allgatherv(rank, 1, MPI_INTEGER, all, counts, displs, MPI_INTEGER, &
                        MPI_COMM_WORLD, code)
    call check(are_ranks(all), 15)
    all = -1
    call MPI_Gatherv(rank, 1, MPI_INTEGER, all, counts, displs, MPI_INTEGER, 0, &
                     MPI_COMM_WORLD, code)
    call check(rank /= 0 .or. are_ranks(all), 16)
    call MPI_Scatterv(all, counts, displs, MPI_INTEGER, value, 1, MPI_INTEGER, 0, &
                      MPI_COMM_WORLD, code)
    call check(value(1) == rank, 17)
    call MPI_Alltoallv(many, counts, displs, MPI_INTEGER, all, counts, displs, MPI_INTEGER, &
                       MPI_COMM_WORLD, code)
    call check(are_ranks(all), 18)
  end subroutine

  logical function are_ranks(list)
    integer, intent(in) :: list(:)
    integer :: k
    are_ranks = all_equal(list(1:ranks), (/ (k, k = 0, ranks - 1) /))
  end function

  logical function all_equal(a, b)
    integer, intent(in) :: a(:), b(:)
    all_equal = maxval(abs(a - b)) == 0
  end function

  subroutine check(holds, what)
    logical, intent(in) :: holds
    integer, intent(in) :: what
    if (.not. holds .or. code /= MPI_SUCCESS) then
      print *, 'rank', rank, 'check', what, 'failed, code', code
      call MPI_Abort(MPI_COMM_WORLD, 9, code)
    end if
  end subroutine
end program
