/* MPI_Dist_graph_create: any rank names any edges. Each edge is told to both of its ends, which
 * sort what they are told by who told it, so that several edges between the same two have one order
 * on both sides. path: setup */
#include <stdlib.h>

#include "mpi/facade.h"

static int wrong(const char* function, Comm* comm, int error_class, const char* problem) {
  return raise_error(function, comm, error_class, problem);
}

/* What an end is told: whether it receives, whom the edge comes from or goes to, its weight. */
typedef struct Notice {
  int receives, peer, weight;
} Notice;

/* What a rank has named. */
typedef struct Named {
  int n;
  const int *sources, *degrees, *destinations, *weights; /* NULL: no weights */
  size_t edges;
} Named;

/* ---- arguments ---- */

static int check_named(const char* function, Comm* comm, Named* named) {
  const int size = esp_team_size(comm->team);
  named->edges = 0;
  if (named->n < 0) return wrong(function, comm, MPI_ERR_ARG, "negative number of sources");
  if (named->n > 0 && (named->sources == NULL || named->degrees == NULL)) {
    return wrong(function, comm, MPI_ERR_ARG, "null sources or degrees");
  }
  for (int i = 0; i < named->n; ++i) {
    if (named->degrees[i] < 0) return wrong(function, comm, MPI_ERR_ARG, "negative degree");
    if (named->sources[i] < 0 || named->sources[i] >= size) {
      return wrong(function, comm, MPI_ERR_RANK, "a source is not a rank of the communicator");
    }
    named->edges += (size_t)named->degrees[i];
  }
  if (named->edges > 0 && named->destinations == NULL) {
    return wrong(function, comm, MPI_ERR_ARG, "null destinations");
  }
  for (size_t e = 0; e < named->edges; ++e) {
    if (named->destinations[e] < 0 || named->destinations[e] >= size) {
      return wrong(function, comm, MPI_ERR_RANK, "a destination is not a rank of the communicator");
    }
  }
  return MPI_SUCCESS;
}

static int check_weights(const char* function, Comm* comm, const Named* named) {
  if (named->edges == 0 || named->weights == MPI_UNWEIGHTED) return MPI_SUCCESS;
  if (named->weights == NULL) return wrong(function, comm, MPI_ERR_ARG, "null weights");
  if (named->weights == MPI_WEIGHTS_EMPTY) {
    return wrong(function, comm, MPI_ERR_ARG, "MPI_WEIGHTS_EMPTY for edges");
  }
  for (size_t e = 0; e < named->edges; ++e) {
    if (named->weights[e] < 0) return wrong(function, comm, MPI_ERR_ARG, "negative weight");
  }
  return MPI_SUCCESS;
}

/* Bits that are combined over all ranks: who has edges counts. */
enum { kPlain = 1, kWeighted = 2, kWouldBeWeighted = 4 };

static int weights_bit(const Named* named) {
  const int has_weights = named->weights != MPI_UNWEIGHTED;
  if (named->edges > 0) return has_weights ? kWeighted : kPlain;
  return has_weights ? kWouldBeWeighted : 0;
}

static int are_weighted(int bits) {
  return (bits & kWeighted) != 0 || bits == kWouldBeWeighted;
}

/* ---- telling ---- */

/* Counts and places of notices by the rank they are for, or come from. */
typedef struct Mail {
  size_t *sent, *sent_at, *got, *got_at; /* one allocation */
  Notice *out, *in;
  size_t arrived;
} Mail;

static void mail_free(Mail* mail) {
  free(mail->sent);
  free(mail->out);
  free(mail->in);
}

static int mail_begin(Mail* mail, int size, size_t edges) {
  *mail = (Mail){.sent = calloc(4 * (size_t)size, sizeof *mail->sent),
                 .out = malloc((2 * edges + 1) * sizeof *mail->out)};
  if (mail->sent == NULL || mail->out == NULL) return 0;
  mail->sent_at = mail->sent + size;
  mail->got = mail->sent_at + size;
  mail->got_at = mail->got + size;
  return 1;
}

static size_t place(const size_t* counts, size_t* at, int size) {
  size_t next = 0;
  for (int r = 0; r < size; ++r) {
    at[r] = next;
    next += counts[r];
  }
  return next;
}

static void write_notices(Mail* mail, const Named* named, int size) {
  size_t e = 0;
  for (int i = 0; i < named->n; ++i) {
    for (int k = 0; k < named->degrees[i]; ++k, ++e) {
      ++mail->sent[named->sources[i]];
      ++mail->sent[named->destinations[e]];
    }
  }
  (void)place(mail->sent, mail->sent_at, size);
  e = 0;
  for (int i = 0; i < named->n; ++i) {
    for (int k = 0; k < named->degrees[i]; ++k, ++e) {
      const int from = named->sources[i], to = named->destinations[e];
      const int weight = named->weights == MPI_UNWEIGHTED ? 0 : named->weights[e];
      mail->out[mail->sent_at[from]++] = (Notice){0, to, weight};
      mail->out[mail->sent_at[to]++] = (Notice){1, from, weight};
    }
  }
  (void)place(mail->sent, mail->sent_at, size);
}

/* All blocks in bytes. */
static esp_status exchange(esp_team* team, Mail* mail, int size) {
  for (int r = 0; r < size; ++r) mail->sent[r] *= sizeof(Notice);
  for (int r = 0; r < size; ++r) mail->sent_at[r] *= sizeof(Notice);
  esp_status status = esp_alltoall(team, mail->sent, mail->got, sizeof *mail->got, ESP_BYTE);
  if (status != ESP_OK) return status;
  const size_t bytes = place(mail->got, mail->got_at, size);
  mail->arrived = bytes / sizeof(Notice);
  mail->in = malloc(bytes + 1);
  if (mail->in == NULL) return ESP_ERR_NO_MEMORY;
  return esp_alltoallv(team, mail->out, mail->sent, mail->sent_at, mail->in, mail->got,
                       mail->got_at, ESP_BYTE);
}

/* ---- making ---- */

static esp_status make_topology(esp_team* team, const Mail* mail, int weighted,
                                Topology** topology) {
  int* numbers = malloc((2 * mail->arrived + 1) * sizeof *numbers); /* ranks, then weights */
  if (numbers == NULL) return ESP_ERR_NO_MEMORY;
  int* weights = numbers + mail->arrived;
  size_t at = 0, sources = 0;
  for (int receives = 1; receives >= 0; --receives) {
    for (size_t i = 0; i < mail->arrived; ++i) {
      if (mail->in[i].receives != receives) continue;
      numbers[at] = mail->in[i].peer;
      weights[at++] = mail->in[i].weight;
    }
    if (receives) sources = at;
  }
  const Edges in = {sources, numbers, weights};
  const Edges out = {at - sources, numbers + sources, weights + sources};
  const esp_status status = topology_graph(team, in, out, weighted, topology);
  free(numbers);
  return status;
}

static esp_status tell_and_make(esp_team* team, const Named* named, int weighted,
                                Topology** topology) {
  const int size = esp_team_size(team);
  Mail mail;
  esp_status status = ESP_ERR_NO_MEMORY;
  if (mail_begin(&mail, size, named->edges)) {
    write_notices(&mail, named, size);
    status = exchange(team, &mail, size);
  }
  if (status == ESP_OK) status = make_topology(team, &mail, weighted, topology);
  mail_free(&mail);
  return status;
}

int MPI_Dist_graph_create(MPI_Comm handle, int n, const int sources[], const int degrees[],
                          const int destinations[], const int* weights, MPI_Info info, int reorder,
                          MPI_Comm* newcomm) {
  (void)info;
  (void)reorder;
  Comm* comm;
  Named named = {n, sources, degrees, destinations, weights, 0};
  int code = comm_check(__func__, handle, newcomm, &comm);
  if (code == MPI_SUCCESS) code = check_named(__func__, comm, &named);
  if (code == MPI_SUCCESS) code = check_weights(__func__, comm, &named);
  if (code != MPI_SUCCESS) return code;
  esp_team* team = NULL;
  Topology* topology = NULL;
  int32_t bits = weights_bit(&named), all = 0;
  esp_status status = esp_team_dup(comm->team, &team);
  if (status == ESP_OK) status = esp_allreduce(team, &bits, &all, 1, ESP_INT32, ESP_BOR);
  if (status == ESP_OK && (all & kPlain) != 0 && (all & kWeighted) != 0) {
    esp_team_free(team);
    return wrong(__func__, comm, MPI_ERR_ARG, "some processes give weights, others do not");
  }
  if (status == ESP_OK) status = tell_and_make(team, &named, are_weighted(all), &topology);
  return comm_create(__func__, comm, status, team, topology, "a graph communicator", newcomm);
}
