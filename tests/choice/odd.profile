espalier profile 1
made  by hand, for tests: rows that nobody would measure

# operation          ranks nodes network cores from algorithm  shape    radix segment window us next us
allreduce            -     -     -       -     0    -          -        -     -       -      -  -    -
allreduce            -     -     -       -     64   ring       -        -     512     3      9  tree 10
allreduce            -     -     -       -     70000 halving   -        -     4096    -      -  -    -
bcast                -     -     -       -     0    tree       chain    -     300     2      -  -    -
bcast                -     -     -       -     5000 tree       k-ary    3     2048    -      -  -    -
reduce               -     1     -       -     0    tree       binary   -     128     -      -  -    -
reduce               -     2+    -       -     0    tree       -        -     128     -      -  -    -
barrier              -     -     -       -     0    tree       chain    -     -       -      -  -    -
allgather            -     -     -       -     0    Bruck      -        3     -       -      -  -    -
allgather            -     -     -       -     1000 ring       -        -     100     -      -  -    -
allgather            -     -     -       -     9000 doubling   -        -     -       -      -  -    -
allgatherv           -     -     -       -     0    ring       -        -     777     -      -  -    -
alltoall             -     -     -       -     0    Bruck      -        2     -       -      -  -    -
alltoall             -     -     -       -     2000 XOR        -        -     333     1      -  -    -
alltoallv            -     -     -       -     0    ring       -        -     333     1      -  -    -
scan                 -     -     -       -     0    ring       -        -     64      -      -  -    -
exscan               -     -     -       -     0    ring       -        -     64      -      -  -    -
gather               -     -     -       -     0    tree       chain    -     -       -      -  -    -
scatter              -     -     -       -     0    tree       binomial -     -       -      -  -    -
