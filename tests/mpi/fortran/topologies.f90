! topologies: grids, graphs, and what neighbours exchange, with the module mpi.
program topologies
  use mpi
  implicit none
  integer :: rank, size, left, right
  call begin(rank, size, left, right)
  call grids(rank, size)
  call graphs(rank, size, left, right)
  call distributed(rank, left, right)
  call exchanges(rank, size, left, right)
  call conclude()

contains

  subroutine grids(rank, size)
    integer, intent(in) :: rank, size
    integer :: comm, row, ierr, n, dims(2), coords(2), from, to, found, kind
    logical :: periods(2)
    dims = 0
    call MPI_Dims_create(size, 2, dims, ierr)
    call agree(dims(1) * dims(2), size, 'MPI_Dims_create')
    dims = [size, 1]
    call MPI_Cart_map(MPI_COMM_WORLD, 2, dims, [.true., .false.], n, ierr)
    call check(n >= 0 .and. n < size, 'MPI_Cart_map')
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., comm, ierr)
    call MPI_Topo_test(comm, kind, ierr)
    call agree(kind, MPI_CART, 'MPI_Topo_test')
    call MPI_Cartdim_get(comm, n, ierr)
    call agree(n, 2, 'MPI_Cartdim_get')
    call MPI_Cart_get(comm, 2, dims, periods, coords, ierr)
    call check(periods(1) .and. .not. periods(2), 'periods')
    call check(dims(1) == size .and. coords(1) == rank, 'MPI_Cart_get')
    call MPI_Cart_rank(comm, coords, n, ierr)
    call agree(n, rank, 'MPI_Cart_rank')
    call MPI_Cart_coords(comm, size - 1, 2, coords, ierr)
    call agree(coords(1), size - 1, 'MPI_Cart_coords')
    call MPI_Cart_shift(comm, 0, 1, from, to, ierr)
    call check(from == modulo(rank - 1, size) .and. to == modulo(rank + 1, size), &
               'MPI_Cart_shift')
    call MPI_Cart_shift(comm, 1, 1, from, to, ierr)
    call agree(to, MPI_PROC_NULL, 'MPI_Cart_shift at the border')
    call MPI_Cart_sub(comm, [.true., .false.], row, ierr)
    call MPI_Comm_size(row, found, ierr)
    call agree(found, size, 'MPI_Cart_sub')
    call MPI_Comm_free(row, ierr)
    call MPI_Cart_sub(comm, [.false., .true.], row, ierr)
    call MPI_Comm_size(row, found, ierr)
    call agree(found, 1, 'MPI_Cart_sub of the other')
    call MPI_Comm_free(row, ierr)
    call MPI_Comm_free(comm, ierr)
  end subroutine grids

  ! A ring, of which everybody gives all edges.
  subroutine graphs(rank, size, left, right)
    integer, intent(in) :: rank, size, left, right
    integer :: comm, ierr, i, n, m, index(64), edges(128), found(2)
    do i = 1, size
      index(i) = 2 * i
      edges(2 * i - 1) = modulo(i - 2, size)
      edges(2 * i) = modulo(i, size)
    end do
    call MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, n, ierr)
    call check(n >= 0 .and. n < size, 'MPI_Graph_map')
    call MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, .false., comm, ierr)
    call MPI_Graphdims_get(comm, n, m, ierr)
    call check(n == size .and. m == 2 * size, 'MPI_Graphdims_get')
    index = 0
    edges = -1
    call MPI_Graph_get(comm, 64, 128, index, edges, ierr)
    call check(index(size) == 2 * size .and. edges(2 * size) == 0, 'MPI_Graph_get')
    call MPI_Graph_neighbors_count(comm, rank, n, ierr)
    call agree(n, 2, 'MPI_Graph_neighbors_count')
    call MPI_Graph_neighbors(comm, rank, 2, found, ierr)
    call check(found(1) == left .and. found(2) == right, 'MPI_Graph_neighbors')
    call MPI_Comm_free(comm, ierr)
  end subroutine graphs

  subroutine distributed(rank, left, right)
    integer, intent(in) :: rank, left, right
    integer :: comm, ierr, in, out, from(1), to(1), from_weights(1), to_weights(1)
    logical :: weighted
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], &
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., comm, ierr)
    call MPI_Dist_graph_neighbors_count(comm, in, out, weighted, ierr)
    call check(in == 1 .and. out == 1 .and. .not. weighted, 'unweighted')
    call MPI_Dist_graph_neighbors(comm, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, ierr)
    call check(from(1) == left .and. to(1) == right, 'MPI_Dist_graph_neighbors')
    call MPI_Comm_free(comm, ierr)
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [right], [10 + rank], &
                               MPI_INFO_NULL, .false., comm, ierr)
    call MPI_Dist_graph_neighbors_count(comm, in, out, weighted, ierr)
    call check(in == 1 .and. out == 1 .and. weighted, 'weighted')
    call MPI_Dist_graph_neighbors(comm, 1, from, from_weights, 1, to, to_weights, ierr)
    call check(from(1) == left .and. from_weights(1) == 10 + left, 'weights of sources')
    call check(to(1) == right .and. to_weights(1) == 10 + rank, 'weights of destinations')
    call MPI_Comm_free(comm, ierr)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, from, MPI_WEIGHTS_EMPTY, 0, to, &
                                        MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., comm, ierr)
    call MPI_Dist_graph_neighbors_count(comm, in, out, weighted, ierr)
    call check(in == 0 .and. out == 0 .and. weighted, 'MPI_WEIGHTS_EMPTY')
    call MPI_Comm_free(comm, ierr)
  end subroutine distributed

  ! With the left one and the right one of a ring that has more than two.
  subroutine exchanges(rank, size, left, right)
    integer, intent(in) :: rank, size, left, right
    integer :: comm, ierr, in(2), counts(2), displs(2), types(2), requests(5)
    integer, volatile :: out(2, 5)
    integer(MPI_ADDRESS_KIND) :: bytes(2)
    if (size < 3) return
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.true.], .false., comm, ierr)
    in = [10 * rank, 10 * rank + 1]
    counts = 1
    displs = [0, 1]
    bytes = [0, 4]
    types = MPI_INTEGER
    out = -1
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, out(1, 1), 1, MPI_INTEGER, comm, ierr)
    call MPI_Neighbor_allgatherv(rank, 1, MPI_INTEGER, out(1, 2), counts, displs, MPI_INTEGER, &
                                 comm, ierr)
    call MPI_Neighbor_alltoall(in, 1, MPI_INTEGER, out(1, 3), 1, MPI_INTEGER, comm, ierr)
    call MPI_Neighbor_alltoallv(in, counts, displs, MPI_INTEGER, out(1, 4), counts, displs, &
                                MPI_INTEGER, comm, ierr)
    call MPI_Neighbor_alltoallw(in, counts, bytes, types, out(1, 5), counts, bytes, types, comm, &
                                ierr)
    call compare(out, left, right, 'a neighbourhood')
    out = -1
    call MPI_Ineighbor_allgather(rank, 1, MPI_INTEGER, out(1, 1), 1, MPI_INTEGER, comm, &
                                 requests(1), ierr)
    call MPI_Ineighbor_allgatherv(rank, 1, MPI_INTEGER, out(1, 2), counts, displs, MPI_INTEGER, &
                                  comm, requests(2), ierr)
    call MPI_Ineighbor_alltoall(in, 1, MPI_INTEGER, out(1, 3), 1, MPI_INTEGER, comm, &
                                requests(3), ierr)
    call MPI_Ineighbor_alltoallv(in, counts, displs, MPI_INTEGER, out(1, 4), counts, displs, &
                                 MPI_INTEGER, comm, requests(4), ierr)
    call MPI_Ineighbor_alltoallw(in, counts, bytes, types, out(1, 5), counts, bytes, types, &
                                 comm, requests(5), ierr)
    call MPI_Waitall(5, requests, MPI_STATUSES_IGNORE, ierr)
    call compare(out, left, right, 'a started one')
    call MPI_Comm_free(comm, ierr)
  end subroutine exchanges

  subroutine compare(out, left, right, what)
    integer, intent(in) :: out(2, 5), left, right
    character(len=*), intent(in) :: what
    integer :: i
    do i = 1, 2
      call check(out(1, i) == left .and. out(2, i) == right, what // ': gathered')
    end do
    do i = 3, 5
      call check(out(1, i) == 10 * left + 1 .and. out(2, i) == 10 * right, what // ': swapped')
    end do
  end subroutine compare
end program topologies
