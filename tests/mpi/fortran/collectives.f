! collectives: all of them in Fortran 77 with mpif.h, blocking and started, in place, and operators.
      program collectives
      implicit none
      include 'mpif.h'
      integer rank, size, left, right
      call begin(rank, size, left, right)
      call rooted(rank, size)
      call exchanges(rank, size)
      call from_bottom(rank, size)
      call in_place(rank, size)
      call started(rank, size)
      call numbers(rank, size)
      call pairs(rank, size)
      call own(rank, size)
      call conclude
      end

      subroutine rooted(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, i, one, ierr, all(64), counts(64), displs(64)
      one = -1
      if (rank .eq. size - 1) one = 41
      call mpi_bcast(one, 1, MPI_INTEGER, size - 1, MPI_COMM_WORLD,
     &               ierr)
      call agree(one, 41, 'mpi_bcast')
      do 10 i = 1, size
        all(i) = -1
        counts(i) = 1
        displs(i) = size - i
   10 continue
      call mpi_gather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0,
     &                MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) then
        call agree(all(size), size - 1, 'mpi_gather')
        all(1) = 100
        call mpi_scatter(all, 1, MPI_INTEGER, MPI_IN_PLACE, 1,
     &                   MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
      else
        call mpi_scatter(all, 1, MPI_INTEGER, one, 1, MPI_INTEGER, 0,
     &                   MPI_COMM_WORLD, ierr)
        call agree(one, rank, 'mpi_scatter')
      end if
      call mpi_gatherv(rank, 1, MPI_INTEGER, all, counts, displs,
     &                 MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) call agree(all(1), size - 1, 'mpi_gatherv')
      call mpi_scatterv(all, counts, displs, MPI_INTEGER, one, 1,
     &                  MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
      call agree(one, rank, 'mpi_scatterv')
      call mpi_reduce(rank, one, 1, MPI_INTEGER, MPI_MAX, size - 1,
     &                MPI_COMM_WORLD, ierr)
      if (rank .eq. size - 1) call agree(one, size - 1, 'mpi_reduce')
      end

      subroutine exchanges(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, i, ierr, in(64), out(64), counts(64)
      integer displs(64), types(64), bytes(64), two(2)
      do 10 i = 1, size
        in(i) = 100 * rank + i - 1
        counts(i) = 1
        displs(i) = i - 1
        bytes(i) = 4 * (i - 1)
        types(i) = MPI_INTEGER
   10 continue
      call mpi_allgather(rank, 1, MPI_INTEGER, out, 1, MPI_INTEGER,
     &                   MPI_COMM_WORLD, ierr)
      call agree(out(size), size - 1, 'mpi_allgather')
      call mpi_allgatherv(rank, 1, MPI_INTEGER, out, counts, displs,
     &                    MPI_INTEGER, MPI_COMM_WORLD, ierr)
      call agree(out(size), size - 1, 'mpi_allgatherv')
      call mpi_alltoall(in, 1, MPI_INTEGER, out, 1, MPI_INTEGER,
     &                  MPI_COMM_WORLD, ierr)
      call agree(out(size), 100 * (size - 1) + rank, 'mpi_alltoall')
      out(size) = -1
      call mpi_alltoallv(in, counts, displs, MPI_INTEGER, out, counts,
     &                   displs, MPI_INTEGER, MPI_COMM_WORLD, ierr)
      call agree(out(size), 100 * (size - 1) + rank, 'mpi_alltoallv')
      out(size) = -1
      call mpi_alltoallw(in, counts, bytes, types, out, counts, bytes,
     &                   types, MPI_COMM_WORLD, ierr)
      call agree(out(size), 100 * (size - 1) + rank, 'mpi_alltoallw')
      call mpi_reduce_scatter_block(in, two(1), 1, MPI_INTEGER, MPI_SUM,
     &                              MPI_COMM_WORLD, ierr)
      call mpi_reduce_scatter(in, two(2), counts, MPI_INTEGER, MPI_SUM,
     &                        MPI_COMM_WORLD, ierr)
      i = 50 * size * (size - 1) + size * rank
      call agree(two(1), i, 'mpi_reduce_scatter_block')
      call agree(two(2), i, 'mpi_reduce_scatter')
      call mpi_scan(rank, i, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD,
     &              ierr)
      call agree(i, rank * (rank + 1) / 2, 'mpi_scan')
      i = 0
      call mpi_exscan(rank, i, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD,
     &                ierr)
      if (rank .gt. 0) call agree(i, rank*(rank-1) / 2, 'mpi_exscan')
      end

! With absolute addresses the types count, too.
      subroutine from_bottom(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, i, ierr, in(64), out(64), counts(64)
      integer zeros(64), types(64), to(64)
      integer (kind=MPI_ADDRESS_KIND) place
      common /places/ in
      do 10 i = 1, size
        in(i) = 100 * rank + i - 1
        out(i) = -1
        counts(i) = 1
        zeros(i) = 0
        to(i) = MPI_INTEGER
        call mpi_get_address(in(i), place, ierr)
        call mpi_type_create_hindexed(1, 1, place, MPI_INTEGER,
     &                                types(i), ierr)
        call mpi_type_commit(types(i), ierr)
   10 continue
      call mpi_alltoallw(MPI_BOTTOM, counts, zeros, types, out, counts,
     &                   (/ (4 * (i - 1), i = 1, 64) /), to,
     &                   MPI_COMM_WORLD, ierr)
      call agree(ierr, MPI_SUCCESS, 'mpi_alltoallw of MPI_BOTTOM')
      call agree(out(size), 100 * (size-1) + rank, 'MPI_BOTTOM')
      do 30 i = 1, size
        call mpi_type_free(types(i), ierr)
   30 continue
      end

      subroutine in_place(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, i, ierr, all(64), one, counts(64), displs(64)
      integer types(64)
      one = rank + 1
      call mpi_allreduce(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      call agree(one, size * (size + 1) / 2, 'in place: allreduce')
      all(rank+1) = rank
      call mpi_allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1,
     &                   MPI_INTEGER, MPI_COMM_WORLD, ierr)
      call agree(all(size), size - 1, 'in place: allgather')
      do 10 i = 1, size
        all(i) = 100 * rank + i - 1
        counts(i) = 1
        displs(i) = 4 * (i - 1)
        types(i) = MPI_INTEGER
   10 continue
      call mpi_alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1,
     &                  MPI_INTEGER, MPI_COMM_WORLD, ierr)
      call agree(all(size), 100 * (size-1) + rank, 'in place: alltoall')
      call mpi_alltoallw(MPI_IN_PLACE, counts, displs, types, all,
     &                   counts, displs, types, MPI_COMM_WORLD, ierr)
      call agree(all(size), 100 * rank + size-1, 'in place: alltoallw')
      one = rank
      if (rank .eq. 0) then
        call mpi_reduce(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_SUM, 0,
     &                  MPI_COMM_WORLD, ierr)
        call agree(one, size * (size - 1) / 2, 'in place: reduce')
      else
        call mpi_reduce(one, i, 1, MPI_INTEGER, MPI_SUM, 0,
     &                  MPI_COMM_WORLD, ierr)
      end if
      one = rank
      call mpi_scan(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_SUM,
     &              MPI_COMM_WORLD, ierr)
      call agree(one, rank * (rank + 1) / 2, 'in place: scan')
      end

! The started forms, all under way at once.
      subroutine started(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, i, ierr, last, sum
      integer r(17), in(64), counts(64), displs(64), bytes(64)
      integer types(64), one(17), all(64,17)
      do 10 i = 1, size
        in(i) = 100 * rank + i - 1
        counts(i) = 1
        displs(i) = i - 1
        bytes(i) = 4 * (i - 1)
        types(i) = MPI_INTEGER
   10 continue
      one(1) = rank
      call mpi_ibarrier(MPI_COMM_WORLD, r(1), ierr)
      call mpi_ibcast(one(1), 1, MPI_INTEGER, 0, MPI_COMM_WORLD, r(2),
     &                ierr)
      call mpi_ireduce(rank, one(2), 1, MPI_INTEGER, MPI_SUM, 0,
     &                 MPI_COMM_WORLD, r(3), ierr)
      call mpi_iallreduce(rank, one(3), 1, MPI_INTEGER, MPI_SUM,
     &                    MPI_COMM_WORLD, r(4), ierr)
      call mpi_iscan(rank, one(4), 1, MPI_INTEGER, MPI_SUM,
     &               MPI_COMM_WORLD, r(5), ierr)
      call mpi_iexscan(rank, one(5), 1, MPI_INTEGER, MPI_SUM,
     &                 MPI_COMM_WORLD, r(6), ierr)
      call mpi_iallgather(rank, 1, MPI_INTEGER, all(1,1), 1,
     &                    MPI_INTEGER, MPI_COMM_WORLD, r(7), ierr)
      call mpi_iallgatherv(rank, 1, MPI_INTEGER, all(1,2), counts,
     &                     displs, MPI_INTEGER, MPI_COMM_WORLD, r(8),
     &                     ierr)
      call mpi_ialltoall(in, 1, MPI_INTEGER, all(1,3), 1, MPI_INTEGER,
     &                   MPI_COMM_WORLD, r(9), ierr)
      call mpi_ialltoallv(in, counts, displs, MPI_INTEGER, all(1,4),
     &                    counts, displs, MPI_INTEGER, MPI_COMM_WORLD,
     &                    r(10), ierr)
      call mpi_ialltoallw(in, counts, bytes, types, all(1,5), counts,
     &                    bytes, types, MPI_COMM_WORLD, r(11), ierr)
      call mpi_igather(rank, 1, MPI_INTEGER, all(1,6), 1, MPI_INTEGER,
     &                 0, MPI_COMM_WORLD, r(12), ierr)
      call mpi_igatherv(rank, 1, MPI_INTEGER, all(1,7), counts, displs,
     &                  MPI_INTEGER, 0, MPI_COMM_WORLD, r(13), ierr)
      call mpi_iscatter(in, 1, MPI_INTEGER, one(6), 1, MPI_INTEGER, 0,
     &                  MPI_COMM_WORLD, r(14), ierr)
      call mpi_iscatterv(in, counts, displs, MPI_INTEGER, one(7), 1,
     &                   MPI_INTEGER, 0, MPI_COMM_WORLD, r(15), ierr)
      call mpi_ireduce_scatter_block(in, one(8), 1, MPI_INTEGER,
     &                               MPI_SUM, MPI_COMM_WORLD, r(16),
     &                               ierr)
      call mpi_ireduce_scatter(in, one(9), counts, MPI_INTEGER,
     &                         MPI_SUM, MPI_COMM_WORLD, r(17), ierr)
      call mpi_waitall(17, r, MPI_STATUSES_IGNORE, ierr)
      call agree(ierr, MPI_SUCCESS, 'mpi_waitall of collectives')
      sum = size * (size - 1) / 2
      last = 100 * (size - 1) + rank
      call agree(one(1), 0, 'mpi_ibcast')
      if (rank .eq. 0) call agree(one(2), sum, 'mpi_ireduce')
      call agree(one(3), sum, 'mpi_iallreduce')
      call agree(one(4), rank * (rank + 1) / 2, 'mpi_iscan')
      if (rank .gt. 0) call agree(one(5), rank * (rank - 1) / 2,
     &                            'mpi_iexscan')
      call agree(all(size,1), size - 1, 'mpi_iallgather')
      call agree(all(size,2), size - 1, 'mpi_iallgatherv')
      call agree(all(size,3), last, 'mpi_ialltoall')
      call agree(all(size,4), last, 'mpi_ialltoallv')
      call agree(all(size,5), last, 'mpi_ialltoallw')
      if (rank .eq. 0) call agree(all(size,6), size-1, 'mpi_igather')
      if (rank .eq. 0) call agree(all(size,7), size-1, 'mpi_igatherv')
      call agree(one(6), rank, 'mpi_iscatter')
      call agree(one(7), rank, 'mpi_iscatterv')
      call agree(one(8), 100 * sum + size * rank, 'mpi_ireduce_...')
      call agree(one(9), 100 * sum + size * rank, 'mpi_ireduce_s')
      end

! Fortran's types in reductions.
      subroutine numbers(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, ierr, i, sum
      integer*8 long
      real single
      double precision double
      complex c
      double complex z
      logical yes
      real*8 eight
      sum = size * (size + 1) / 2
      i = rank + 1
      call mpi_allreduce(MPI_IN_PLACE, i, 1, MPI_INTEGER, MPI_PROD,
     &                   MPI_COMM_WORLD, ierr)
      if (size .eq. 4) call agree(i, 24, 'MPI_INTEGER')
      long = (rank + 1) * 10000000000_8
      call mpi_allreduce(MPI_IN_PLACE, long, 1, MPI_INTEGER8, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      call check(long .eq. sum * 10000000000_8, 'MPI_INTEGER8')
      single = rank + 1.0
      call mpi_allreduce(MPI_IN_PLACE, single, 1, MPI_REAL, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      call check(single .eq. real(sum), 'MPI_REAL')
      double = rank + 1
      call mpi_allreduce(MPI_IN_PLACE, double, 1, MPI_DOUBLE_PRECISION,
     &                   MPI_MAX, MPI_COMM_WORLD, ierr)
      call check(double .eq. size, 'MPI_DOUBLE_PRECISION')
      eight = rank + 1
      call mpi_allreduce(MPI_IN_PLACE, eight, 1, MPI_REAL8, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      call check(eight .eq. sum, 'MPI_REAL8')
      c = cmplx(rank + 1, 1)
      call mpi_allreduce(MPI_IN_PLACE, c, 1, MPI_COMPLEX, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      call check(c .eq. cmplx(sum, size), 'MPI_COMPLEX')
      z = dcmplx(rank + 1, -1)
      call mpi_allreduce(MPI_IN_PLACE, z, 1, MPI_DOUBLE_COMPLEX,
     &                   MPI_SUM, MPI_COMM_WORLD, ierr)
      call check(z .eq. dcmplx(sum, -size), 'MPI_DOUBLE_COMPLEX')
      yes = rank .eq. 0
      call mpi_allreduce(MPI_IN_PLACE, yes, 1, MPI_LOGICAL, MPI_LOR,
     &                   MPI_COMM_WORLD, ierr)
      call check(yes, 'MPI_LOGICAL, MPI_LOR')
      yes = rank .eq. 0
      call mpi_allreduce(MPI_IN_PLACE, yes, 1, MPI_LOGICAL, MPI_LAND,
     &                   MPI_COMM_WORLD, ierr)
      call check(yes .eqv. size .eq. 1, 'MPI_LOGICAL, MPI_LAND')
      end

      subroutine pairs(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, ierr, in(2), out(2)
      real rin(2), rout(2)
      double precision din(2), dout(2)
      in(1) = mod(rank + 1, size)
      in(2) = rank
      call mpi_allreduce(in, out, 1, MPI_2INTEGER, MPI_MINLOC,
     &                   MPI_COMM_WORLD, ierr)
      call check(out(1) .eq. 0 .and. out(2) .eq. size - 1,
     &           'MPI_2INTEGER')
      rin(1) = 0.5 + in(1)
      rin(2) = rank
      call mpi_allreduce(rin, rout, 1, MPI_2REAL, MPI_MAXLOC,
     &                   MPI_COMM_WORLD, ierr)
      call check(rout(1) .eq. size - 0.5, 'MPI_2REAL')
      call check(int(rout(2)) .eq. mod(2*size-2, size), 'MPI_2REAL: at')
      din(1) = 3
      din(2) = rank
      call mpi_allreduce(din, dout, 1, MPI_2DOUBLE_PRECISION,
     &                   MPI_MAXLOC, MPI_COMM_WORLD, ierr)
      call check(dout(1) .eq. 3 .and. dout(2) .eq. 0,
     &           'MPI_2DOUBLE_PRECISION')
      end

! Operators of the program: 10 a + b of a column of numbers does not commute.
      subroutine own(rank, size)
      implicit none
      include 'mpif.h'
      integer rank, size, ierr, op, in(3), out(3), i, want, type, seen
      logical commutes
      external follow
      common /types/ type, seen
      seen = 0
      type = MPI_INTEGER
      call mpi_op_create(follow, .false., op, ierr)
      call agree(ierr, MPI_SUCCESS, 'mpi_op_create')
      call mpi_op_commutative(op, commutes, ierr)
      call check(.not. commutes, 'mpi_op_commutative')
      want = 0
      do 10 i = 1, size
        want = 10 * want + i
   10 continue
      do 20 i = 1, 3
        in(i) = rank + 1
   20 continue
      call mpi_allreduce(in, out, 3, MPI_INTEGER, op, MPI_COMM_WORLD,
     &                   ierr)
      call agree(out(1), want, 'own operator')
      call agree(out(3), want, 'own operator, last')
      call mpi_type_contiguous(3, MPI_INTEGER, type, ierr)
      call mpi_type_commit(type, ierr)
      call mpi_allreduce(in, out, 1, type, op, MPI_COMM_WORLD, ierr)
      call agree(out(3), want, 'own operator, derived')
      out(1) = 2
      call mpi_reduce_local(in, out, 1, type, op, ierr)
      call agree(out(1), 10 * (rank + 1) + 2, 'mpi_reduce_local')
      call check(seen .gt. 0, 'the operator was called')
      call mpi_type_free(type, ierr)
      call agree(type, MPI_DATATYPE_NULL, 'mpi_type_free')
      call mpi_op_free(op, ierr)
      call agree(op, MPI_OP_NULL, 'mpi_op_free')
      call mpi_op_commutative(MPI_SUM, commutes, ierr)
      call check(commutes, 'MPI_SUM commutes')
      end

      subroutine follow(in, inout, n, datatype)
      implicit none
      include 'mpif.h'
      integer n, datatype, in(*), inout(*), i, each, type, seen, factor
      common /types/ type, seen
      each = n
      if (datatype .ne. MPI_INTEGER) each = 3 * n
      call agree(datatype, type, 'the type in an operator')
      seen = seen + 1
      do 10 i = 1, each
        factor = 10
    5   if (factor .le. inout(i)) then
          factor = 10 * factor
          goto 5
        end if
        inout(i) = factor * in(i) + inout(i)
   10 continue
      end
