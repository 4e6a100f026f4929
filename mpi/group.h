/* Groups: ranks of the job in an order. Nothing of a group changes. path: setup */
#ifndef ESPALIER_MPI_GROUP_H
#define ESPALIER_MPI_GROUP_H

#include "mpi/facade.h"

struct MPI_ABI_Group {
  Number number;
  int size;
  int ranks[]; /* of the job */
};

/* NULL: no group. */
const Group* group_of(MPI_Group handle);
/* With room for so many. NULL when there is no memory. */
Group* group_create(int size);
/* Of the members of a team. */
Group* group_of_team(const esp_team* team);
/* MPI_IDENT, MPI_SIMILAR, MPI_UNEQUAL, or -1 when there is no memory. */
int group_compare(const Group* one, const Group* other);
/* Where each rank of the job stands in the group, MPI_UNDEFINED for the others; NULL when there is
 * no memory. The caller frees it. */
int* group_places(const Group* group);
/* Takes over the group, NULL when there was no memory, and gives it to the program. */
int group_give(const char* function, Group* group, MPI_Group* handle);

#endif /* ESPALIER_MPI_GROUP_H */
