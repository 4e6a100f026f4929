! Non-blocking collectives that Fortran starts, or C (started_in_c.c), and all of Fortran's functions
! that complete requests, by `use mpi` or (-DHEADER) mpif.h.
program started
#ifndef HEADER
  use mpi
#endif
  implicit none
#ifdef HEADER
  include 'mpif.h'
#endif
  integer, parameter :: many = 50000
  integer :: code, rank, ranks, round, i, place, done
  integer :: requests(4), indices(4), statuses(MPI_STATUS_SIZE, 4)
  integer :: in(many), out(many), value, token, got, sum_of_c
  logical :: flag

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  do round = 0, 39
    in = rank + round
    value = merge(round, -1, rank == 0)
    token = rank
    call MPI_Iallreduce(in, out, many, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), code)
    call MPI_Ibcast(value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(2), code)
    call start_in_c(rank, sum_of_c, requests(3))
    call MPI_Irecv(got, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 1, MPI_COMM_WORLD, &
                   requests(4), code)
    call MPI_Send(token, 1, MPI_INTEGER, mod(rank + 1, ranks), 1, MPI_COMM_WORLD, code)
    select case (mod(round, 8))
    case (0)
      do i = 4, 1, -1
        call MPI_Wait(requests(i), statuses(:, 1), code)
      end do
    case (1)
      call MPI_Waitall(4, requests, statuses, code)
    case (2)
      do i = 1, 4
        call MPI_Waitany(4, requests, place, statuses(:, 1), code)
        call check(place >= 1 .and. place <= 4, 1)
      end do
    case (3)
      i = 0
      do while (i < 4)
        call MPI_Waitsome(4, requests, done, indices, statuses, code)
        i = i + done
      end do
    case (4)
      do i = 1, 4
        flag = .false.
        do while (.not. flag)
          call MPI_Test(requests(i), flag, statuses(:, 1), code)
        end do
      end do
    case (5)
      flag = .false.
      do while (.not. flag)
        call MPI_Testall(4, requests, flag, statuses, code)
      end do
    case (6)
      i = 0
      do while (i < 4)
        call MPI_Testany(4, requests, place, flag, statuses(:, 1), code)
        if (flag) i = i + 1
      end do
    case (7)
      i = 0
      do while (i < 4)
        call MPI_Testsome(4, requests, done, indices, statuses, code)
        i = i + done
      end do
    end select
    call check(all(requests == MPI_REQUEST_NULL), 2)
    call check(all(out == ranks * (ranks - 1) / 2 + ranks * round), 3)
    call check(value == round, 4)
    call check(sum_of_c == ranks * (ranks - 1) / 2, 5)
    call check(got == mod(rank + ranks - 1, ranks), 6)
  end do
  call MPI_Finalize(code)

contains

  subroutine check(holds, which)
    logical, intent(in) :: holds
    integer, intent(in) :: which
    if (holds) return
    print *, 'FAILED rank', rank, 'round', round, 'check', which
    call MPI_Abort(MPI_COMM_WORLD, 3, code)
  end subroutine
end program
