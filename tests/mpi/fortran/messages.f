! messages: all forms of messages and requests, in Fortran 77 with mpif.h.
      program messages
      implicit none
      include 'mpif.h'
      integer rank, size, left, right
      call begin(rank, size, left, right)
      call blocking(rank, left, right)
      call started(rank, left, right)
      call persistent(rank, left, right)
      call completion(left, right)
      call probes(rank, left, right)
      call cancelled(left)
      call texts(left, right)
      call errors
      call conclude
      end

! Each mode of a send, to the right.
      subroutine blocking(rank, left, right)
      implicit none
      include 'mpif.h'
      integer rank, left, right
      integer got, request, ierr, mode, n, space(400), size, two(2)
      integer status(MPI_STATUS_SIZE)
      call mpi_buffer_attach(space, 1600, ierr)
      call agree(ierr, MPI_SUCCESS, 'mpi_buffer_attach')
      do 10 mode = 1, 4
        got = -1
        call mpi_irecv(got, 1, MPI_INTEGER, left, mode, MPI_COMM_WORLD,
     &                 request, ierr)
        call mpi_barrier(MPI_COMM_WORLD, ierr)
        if (mode .eq. 1) then
          call mpi_send(rank, 1, MPI_INTEGER, right, mode,
     &                  MPI_COMM_WORLD, ierr)
        else if (mode .eq. 2) then
          call mpi_ssend(rank, 1, MPI_INTEGER, right, mode,
     &                   MPI_COMM_WORLD, ierr)
        else if (mode .eq. 3) then
          call mpi_rsend(rank, 1, MPI_INTEGER, right, mode,
     &                   MPI_COMM_WORLD, ierr)
        else
          call mpi_bsend(rank, 1, MPI_INTEGER, right, mode,
     &                   MPI_COMM_WORLD, ierr)
        end if
        call agree(ierr, MPI_SUCCESS, 'a send')
        call mpi_wait(request, status, ierr)
        call agree(got, left, 'what came')
        call agree(request, MPI_REQUEST_NULL, 'the request')
        call agree(status(MPI_SOURCE), left, 'its source')
        call agree(status(MPI_TAG), mode, 'its tag')
        call mpi_get_count(status, MPI_INTEGER, n, ierr)
        call agree(n, 1, 'its count')
        call mpi_get_elements(status, MPI_INTEGER, n, ierr)
        call agree(n, 1, 'its elements')
   10 continue
      call mpi_buffer_detach(space, size, ierr)
      call agree(size, 1600, 'mpi_buffer_detach')
      two(1) = rank
      two(2) = rank
      call mpi_sendrecv(two(1), 1, MPI_INTEGER, right, 7, two(2), 1,
     &                  MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD,
     &                  status, ierr)
      call agree(two(2), left, 'mpi_sendrecv')
      call agree(status(MPI_TAG), 7, 'mpi_sendrecv: tag')
      call mpi_sendrecv_replace(two(1), 1, MPI_INTEGER, right, 8, left,
     &                          8, MPI_COMM_WORLD, MPI_STATUS_IGNORE,
     &                          ierr)
      call agree(two(1), left, 'mpi_sendrecv_replace')
      call mpi_recv(got, 1, MPI_INTEGER, MPI_PROC_NULL, 0,
     &              MPI_COMM_WORLD, status, ierr)
      call agree(status(MPI_SOURCE), MPI_PROC_NULL, 'from nobody')
      end

      subroutine started(rank, left, right)
      implicit none
      include 'mpif.h'
      integer rank, left, right
      integer i, got(4), requests(8), ierr, space(400), size
      integer statuses(MPI_STATUS_SIZE,8)
      call mpi_buffer_attach(space, 1600, ierr)
      do 10 i = 1, 4
        got(i) = -1
        call mpi_irecv(got(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD,
     &                 requests(i), ierr)
   10 continue
      call mpi_barrier(MPI_COMM_WORLD, ierr)
      call mpi_isend(rank, 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD,
     &               requests(5), ierr)
      call mpi_issend(rank, 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD,
     &                requests(6), ierr)
      call mpi_irsend(rank, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD,
     &                requests(7), ierr)
      call mpi_ibsend(rank, 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD,
     &                requests(8), ierr)
      call check(requests(1) .ne. requests(2), 'requests differ')
      call mpi_waitall(8, requests, statuses, ierr)
      call agree(ierr, MPI_SUCCESS, 'mpi_waitall')
      do 20 i = 1, 4
        call agree(got(i), left, 'mpi_waitall: data')
        call agree(statuses(MPI_SOURCE,i), left, 'mpi_waitall: source')
        call agree(statuses(MPI_TAG,i), i, 'mpi_waitall: tag')
        call agree(requests(i+4), MPI_REQUEST_NULL, 'mpi_waitall: null')
   20 continue
      call mpi_buffer_detach(space, size, ierr)
      end

      subroutine persistent(rank, left, right)
      implicit none
      include 'mpif.h'
      integer rank, left, right
      integer i, turn, got(4), requests(8), ierr, space(400), size
      call mpi_buffer_attach(space, 1600, ierr)
      do 10 i = 1, 4
        call mpi_recv_init(got(i), 1, MPI_INTEGER, left, i,
     &                     MPI_COMM_WORLD, requests(i), ierr)
   10 continue
      call mpi_send_init(rank, 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD,
     &                   requests(5), ierr)
      call mpi_ssend_init(rank, 1, MPI_INTEGER, right, 2,
     &                    MPI_COMM_WORLD, requests(6), ierr)
      call mpi_rsend_init(rank, 1, MPI_INTEGER, right, 3,
     &                    MPI_COMM_WORLD, requests(7), ierr)
      call mpi_bsend_init(rank, 1, MPI_INTEGER, right, 4,
     &                    MPI_COMM_WORLD, requests(8), ierr)
      do 30 turn = 1, 3
        do 20 i = 1, 4
          got(i) = -1
   20   continue
        call mpi_startall(4, requests, ierr)
        call mpi_barrier(MPI_COMM_WORLD, ierr)
        do 25 i = 5, 8
          call mpi_start(requests(i), ierr)
          call agree(ierr, MPI_SUCCESS, 'mpi_start')
   25   continue
        call mpi_waitall(8, requests, MPI_STATUSES_IGNORE, ierr)
        do 27 i = 1, 4
          call agree(got(i), left, 'persistent')
   27   continue
   30 continue
      do 40 i = 1, 8
        call check(requests(i) .ne. MPI_REQUEST_NULL, 'it stays')
        call mpi_request_free(requests(i), ierr)
        call agree(requests(i), MPI_REQUEST_NULL, 'mpi_request_free')
   40 continue
      call mpi_buffer_detach(space, size, ierr)
      end

! Families of waits and tests; places count from 1.
      subroutine completion(left, right)
      implicit none
      include 'mpif.h'
      integer left, right
      integer n, i, j, k, got(3), requests(3), ierr, at, seen(3), many
      integer places(3), status(MPI_STATUS_SIZE)
      integer statuses(MPI_STATUS_SIZE,3)
      logical flag
      do 100 n = 1, 6
        do 10 i = 1, 3
          seen(i) = 0
          call mpi_irecv(got(i), 1, MPI_INTEGER, left, i,
     &                   MPI_COMM_WORLD, requests(i), ierr)
   10   continue
        call mpi_request_get_status(requests(2), flag, status, ierr)
        if (n .eq. 1) call mpi_testall(3, requests, flag, statuses,
     &                                 ierr)
        call mpi_barrier(MPI_COMM_WORLD, ierr)
        do 20 i = 3, 1, -1
          j = 10 * i
          call mpi_send(j, 1, MPI_INTEGER, right, i, MPI_COMM_WORLD,
     &                  ierr)
   20   continue
        i = 0
   30   if (i .lt. 3) then
          if (n .eq. 1) then
            call mpi_waitany(3, requests, at, status, ierr)
            call agree(status(MPI_TAG), at, 'mpi_waitany: tag')
            seen(at) = seen(at) + 1
            i = i + 1
          else if (n .eq. 2) then
            call mpi_testany(3, requests, at, flag, status, ierr)
            if (flag) then
              call agree(status(MPI_TAG), at, 'mpi_testany: tag')
              seen(at) = seen(at) + 1
              i = i + 1
            else
              call nowhere(at, 'mpi_testany: none')
            end if
          else if (n .eq. 3 .or. n .eq. 4) then
            if (n .eq. 3) call mpi_waitsome(3, requests, many, places,
     &                                      statuses, ierr)
            if (n .eq. 4) call mpi_testsome(3, requests, many, places,
     &                                      statuses, ierr)
            do 40 j = 1, many
              k = places(j)
              call agree(statuses(MPI_TAG,j), k, 'some: tag')
              seen(k) = seen(k) + 1
   40       continue
            i = i + many
          else if (n .eq. 5) then
            call mpi_testall(3, requests, flag, MPI_STATUSES_IGNORE,
     &                       ierr)
            if (flag) i = 3
          else
            call mpi_test(requests(i+1), flag, status, ierr)
            if (flag) i = i + 1
          end if
          goto 30
        end if
        do 50 i = 1, 3
          if (n .lt. 5) call agree(seen(i), 1, 'each once')
          call agree(got(i), 10 * i, 'completion: data')
          call agree(requests(i), MPI_REQUEST_NULL, 'completion: null')
   50   continue
  100 continue
      call mpi_waitany(3, requests, at, status, ierr)
      call nowhere(at, 'mpi_waitany of nothing')
      call mpi_waitsome(3, requests, many, places, statuses, ierr)
      call agree(many, MPI_UNDEFINED, 'mpi_waitsome of nothing')
      call mpi_testany(3, requests, at, flag, MPI_STATUS_IGNORE, ierr)
      call check(flag, 'mpi_testany: null')
      call nowhere(at, 'mpi_testany: null')
      end

! MPICH 4.0 adds 1 to MPI_UNDEFINED, too.
      subroutine nowhere(at, what)
      implicit none
      include 'mpif.h'
      integer at
      character*(*) what
      logical is_mpich
      external is_mpich
      if (is_mpich() .and. at .eq. MPI_UNDEFINED + 1) return
      call agree(at, MPI_UNDEFINED, what)
      end

      subroutine probes(rank, left, right)
      implicit none
      include 'mpif.h'
      integer rank, left, right
      integer got, n, i, ierr, request, message
      integer status(MPI_STATUS_SIZE)
      logical flag
      do 10 i = 1, 4
        call mpi_isend(rank, 1, MPI_INTEGER, right, 20 + i,
     &                 MPI_COMM_WORLD, request, ierr)
        flag = .false.
        message = MPI_MESSAGE_NULL
        if (i .eq. 1) then
          call mpi_probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, status,
     &                   ierr)
        else if (i .eq. 3) then
          call mpi_mprobe(left, 23, MPI_COMM_WORLD, message, status,
     &                    ierr)
        else
   20     if (i .eq. 2) call mpi_iprobe(left, 22, MPI_COMM_WORLD, flag,
     &                                  status, ierr)
          if (i .eq. 4) call mpi_improbe(MPI_ANY_SOURCE, 24,
     &                       MPI_COMM_WORLD, flag, message, status,
     &                       ierr)
          if (.not. flag) goto 20
        end if
        call agree(status(MPI_SOURCE), left, 'a probe: source')
        call agree(status(MPI_TAG), 20 + i, 'a probe: tag')
        call mpi_get_count(status, MPI_INTEGER, n, ierr)
        call agree(n, 1, 'a probe: count')
        got = -1
        if (i .le. 2) then
          call mpi_recv(got, 1, MPI_INTEGER, left, 20 + i,
     &                  MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        else
          call check(message .ne. MPI_MESSAGE_NULL, 'a message')
          if (i .eq. 3) call mpi_mrecv(got, 1, MPI_INTEGER, message,
     &                                 status, ierr)
          if (i .eq. 4) then
            call mpi_wait(request, MPI_STATUS_IGNORE, ierr)
            call mpi_imrecv(got, 1, MPI_INTEGER, message, request, ierr)
          end if
          call agree(message, MPI_MESSAGE_NULL, 'it is taken')
        end if
        call mpi_wait(request, MPI_STATUS_IGNORE, ierr)
        call agree(got, left, 'after a probe')
   10 continue
      end

      subroutine cancelled(left)
      implicit none
      include 'mpif.h'
      integer left, got, request, ierr, status(MPI_STATUS_SIZE)
      logical flag
      call mpi_irecv(got, 1, MPI_INTEGER, left, 99, MPI_COMM_WORLD,
     &               request, ierr)
      call mpi_cancel(request, ierr)
      call mpi_wait(request, status, ierr)
      flag = .false.
      call mpi_test_cancelled(status, flag, ierr)
      call check(flag, 'mpi_cancel')
      call mpi_status_set_cancelled(status, .false., ierr)
      call mpi_test_cancelled(status, flag, ierr)
      call check(.not. flag, 'mpi_status_set_cancelled')
      call mpi_status_set_elements(status, MPI_INTEGER, 5, ierr)
      call mpi_get_count(status, MPI_INTEGER, got, ierr)
      call agree(got, 5, 'mpi_status_set_elements')
      end

! Characters as a buffer: their hidden length changes nothing.
      subroutine texts(left, right)
      implicit none
      include 'mpif.h'
      integer left, right, ierr, request
      character*8 sent, got
      sent = 'espalier'
      got = ' '
      call mpi_irecv(got, 8, MPI_CHARACTER, left, 1, MPI_COMM_WORLD,
     &               request, ierr)
      call mpi_send(sent, 8, MPI_CHARACTER, right, 1, MPI_COMM_WORLD,
     &              ierr)
      call mpi_wait(request, MPI_STATUS_IGNORE, ierr)
      call check(got .eq. sent, 'characters')
      end

      subroutine errors
      implicit none
      include 'mpif.h'
      integer ierr, class, n, one, size
      character*(MPI_MAX_ERROR_STRING) text
      one = 1
      call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
      call mpi_send(one, 1, MPI_INTEGER, size, 0, MPI_COMM_WORLD, ierr)
      call mpi_error_class(ierr, class, n)
      call agree(class, MPI_ERR_RANK, 'an error')
      text = ' '
      call mpi_error_string(ierr, text, n, class)
      call check(n .gt. 0 .and. text(n:n) .ne. ' ', 'mpi_error_string')
      call check(text(n+1:) .eq. ' ', 'mpi_error_string: blanks')
      end
