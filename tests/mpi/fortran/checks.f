! checks: what the Fortran programs share. A check that fails is told, and counted.
      subroutine check(holds, what)
      implicit none
      include 'mpif.h'
      logical holds
      character*(*) what
      integer checks, failures, rank, ierr
      common /counts/ checks, failures
      checks = checks + 1
      if (holds) return
      failures = failures + 1
      call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
      print *, 'FAILED rank ', rank, ': ', what
      end

      subroutine agree(got, expected, what)
      implicit none
      integer got, expected
      character*(*) what
      call check(got .eq. expected, what)
      if (got .ne. expected) print *, '  got ', got, ', not ', expected
      end

! Errors come back; the neighbours of a ring.
      subroutine begin(rank, size, left, right)
      implicit none
      include 'mpif.h'
      integer rank, size, left, right, ierr
      integer checks, failures
      common /counts/ checks, failures
      checks = 0
      failures = 0
      call mpi_init(ierr)
      call agree(ierr, MPI_SUCCESS, 'mpi_init')
      call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
      call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
      left = mod(rank + size - 1, size)
      right = mod(rank + 1, size)
      call mpi_comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN,
     &                             ierr)
      call mpi_comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN,
     &                             ierr)
      call agree(ierr, MPI_SUCCESS, 'mpi_comm_set_errhandler')
      end

! For the few checks that MPICH is known to fail, each with its reason.
      logical function is_mpich()
      implicit none
      include 'mpif.h'
      character*(MPI_MAX_LIBRARY_VERSION_STRING) text
      integer n, ierr
      call mpi_get_library_version(text, n, ierr)
      is_mpich = text(1:5) .eq. 'MPICH'
      end

      subroutine conclude
      implicit none
      include 'mpif.h'
      integer checks, failures, all, rank, ierr
      common /counts/ checks, failures
      call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
      call mpi_allreduce(failures, all, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print *, checks, ' checks, ', all, ' failures'
      call mpi_finalize(ierr)
      if (all .ne. 0) stop 1
      end
