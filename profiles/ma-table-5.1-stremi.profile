espalier profile 1
made  from Ma's thesis (2012), table 5.1, Stremi; not measured with Espalier

# T. Ma, "Kernel-assisted and Topology-aware MPI Collective Communication among Multicore or
# Many-core Clusters", PhD thesis, University of Tennessee, 2012, table 5.1: lengths of the segments
# of HierKNEM's pipelines, the best of those tried with 768 ranks on 32 nodes of Stremi
# (24 cores each, gigabit Ethernet).
# Algorithm and shape are left to the rules, as are messages below the first rows.
#operation           ranks  nodes  network cores  from      algorithm  shape    radix segment  window us        next                     us
bcast                768    32     tcp     -      8192      -          -        -     16384    -      -         -                        -
bcast                768    32     tcp     -      524288    -          -        -     32768    -      -         -                        -
reduce               768    32     tcp     -      2048      -          -        -     65536    -      -         -                        -
reduce               768    32     tcp     -      16777216  -          -        -     1048576  -      -         -                        -
