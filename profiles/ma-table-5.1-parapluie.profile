espalier profile 1
made  from Ma's thesis (2012), table 5.1, Parapluie; not measured with Espalier

# T. Ma, "Kernel-assisted and Topology-aware MPI Collective Communication among Multicore or
# Many-core Clusters", PhD thesis, University of Tennessee, 2012, table 5.1: lengths of the segments
# of HierKNEM's pipelines, the best of those tried with 768 ranks on 32 nodes of Parapluie
# (24 cores each, InfiniBand 20G).
# Algorithm and shape are left to the rules, as are messages below the first rows.
#operation           ranks  nodes  network cores  from      algorithm  shape    radix segment  window us        next                     us
bcast                768    32     rdma    -      8192      -          -        -     8192     -      -         -                        -
bcast                768    32     rdma    -      65536     -          -        -     65536    -      -         -                        -
reduce               768    32     rdma    -      2048      -          -        -     65536    -      -         -                        -
reduce               768    32     rdma    -      16777217  -          -        -     1048576  -      -         -                        -
