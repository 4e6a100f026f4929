espalier profile 1
made  from Kowalewski's thesis (2021), table 7.3; not measured with Espalier

# R. Kowalewski, "Partial Aggregation for Collective Communication in Distributed Memory Machines",
# PhD thesis, LMU Munich, 2021, table 7.3: alltoall by another library, FMPI, with 2 ranks on each of
# 4 to 128 nodes of SuperMUC-NG (Omni-Path). Sizes are those of a block. The thesis calls the table
# specific to its platform: compare with what esp-tune measures on yours.
#
# Up to 8 ranks the MPI library's own way up to 4 KiB, here: the rules; above one-factor with all
# partners at once.
#operation           ranks  nodes  network cores  from      algorithm  shape    radix segment  window us        next                     us
alltoall             2-8    -      -       -      0         -          -        -     -        -      -         -                        -
alltoall             2      -      -       -      4097      one-factor -        -     -        2      -         -                        -
alltoall             3      -      -       -      4097      one-factor -        -     -        3      -         -                        -
alltoall             4      -      -       -      4097      one-factor -        -     -        4      -         -                        -
alltoall             5      -      -       -      4097      one-factor -        -     -        5      -         -                        -
alltoall             6      -      -       -      4097      one-factor -        -     -        6      -         -                        -
alltoall             7      -      -       -      4097      one-factor -        -     -        7      -         -                        -
alltoall             8      -      -       -      4097      one-factor -        -     -        8      -         -                        -
# From 9 to 63 ranks one-factor with a window of the number of nodes, which is a row for each; what
# lies between two of them takes the nearer one.
alltoall             9-63   1      -       -      0         one-factor -        -     -        1      -         -                        -
alltoall             9-63   2      -       -      0         one-factor -        -     -        2      -         -                        -
alltoall             9-63   3      -       -      0         one-factor -        -     -        3      -         -                        -
alltoall             9-63   4      -       -      0         one-factor -        -     -        4      -         -                        -
alltoall             9-63   5      -       -      0         one-factor -        -     -        5      -         -                        -
alltoall             9-63   6      -       -      0         one-factor -        -     -        6      -         -                        -
alltoall             9-63   7      -       -      0         one-factor -        -     -        7      -         -                        -
alltoall             9-63   8      -       -      0         one-factor -        -     -        8      -         -                        -
alltoall             9-63   10     -       -      0         one-factor -        -     -        10     -         -                        -
alltoall             9-63   12     -       -      0         one-factor -        -     -        12     -         -                        -
alltoall             9-63   14     -       -      0         one-factor -        -     -        14     -         -                        -
alltoall             9-63   16     -       -      0         one-factor -        -     -        16     -         -                        -
alltoall             9-63   20     -       -      0         one-factor -        -     -        20     -         -                        -
alltoall             9-63   24     -       -      0         one-factor -        -     -        24     -         -                        -
alltoall             9-63   28     -       -      0         one-factor -        -     -        28     -         -                        -
alltoall             9-63   32     -       -      0         one-factor -        -     -        32     -         -                        -
alltoall             9-63   40     -       -      0         one-factor -        -     -        40     -         -                        -
alltoall             9-63   48     -       -      0         one-factor -        -     -        48     -         -                        -
alltoall             9-63   56     -       -      0         one-factor -        -     -        56     -         -                        -
alltoall             9-63   63     -       -      0         one-factor -        -     -        63     -         -                        -
# From 64 ranks on Bruck below 256 B, else one-factor with a window of 64. The table leaves 256 B
# itself open, and the text has a window of 32 for 64 ranks.
alltoall             64+    -      -       -      0         Bruck      -        -     -        -      -         -                        -
alltoall             64+    -      -       -      256       one-factor -        -     -        64     -         -                        -
