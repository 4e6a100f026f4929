/* A task runtime in miniature, driven by one event loop: tasks travel as active messages, and a
 * rank without work sleeps in poll() on the job's descriptor.
 *
 * The work: count the nodes of an unbalanced tree that nobody has in memory. A node is a number and
 * a depth; its children follow from it by hashing. A task counts a node and makes its children
 * tasks, on this rank or on any. The end is found as Dijkstra and Scholten do: every task that came
 * is thanked for, at once by a rank that has work, and by the others when they have none left and
 * all they sent is thanked for. When rank 0, which began, gets there, all are. It then counts the
 * tree alone, and the two counts must be equal.
 * Run: esp-run -n 4 task_loop */
#include <espalier/espalier.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTask = 1, kThanks = 2, kStop = 3 }; /* ids of messages */
enum { kMaxDepth = 14, kShareDepth = 9 };   /* deeper tasks stay where they are */

typedef struct Task {
  uint64_t node;
  uint32_t depth;
} Task;

typedef struct Runtime {
  esp_job* job;
  int rank, size;
  Task* tasks; /* a stack */
  size_t count, room;
  uint64_t counted;  /* nodes, here */
  int waker;         /* whose task woke this rank, to be thanked at the end; -1: nobody's */
  int64_t unthanked; /* tasks sent */
  int64_t sending;   /* messages that the library still has */
  int woken, deaf;   /* sleeps that the descriptor ended; that had to end before work was seen */
  int stop;
} Runtime;

static void check(const Runtime* rt, esp_status status) {
  if (status != ESP_OK) esp_abort(rt->job, 1, esp_job_error(rt->job));
}

static uint64_t hash(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* Most nodes have no or one child, some have many: no two subtrees are alike. */
static unsigned children(Task task) {
  if (task.depth == 0) return 256;
  if (task.depth == kMaxDepth) return 0;
  const uint64_t dice = hash(task.node) % 100;
  return dice < 40 ? 0 : dice < 65 ? 1 : dice < 88 ? 2 : 4;
}

static Task child(Task parent, unsigned i) {
  const Task task = {hash(parent.node ^ hash(i + 1)) & ~UINT64_C(15), parent.depth + 1};
  return task;
}

static uint64_t count_alone(Task task) {
  uint64_t count = 1;
  const unsigned n = children(task);
  for (unsigned i = 0; i < n; ++i) count += count_alone(child(task, i));
  return count;
}

static void push(Runtime* rt, Task task) {
  if (rt->count == rt->room) {
    rt->room = rt->room > 0 ? 2 * rt->room : 64;
    rt->tasks = realloc(rt->tasks, rt->room * sizeof *rt->tasks);
    if (rt->tasks == NULL) esp_abort(rt->job, 1, "no memory");
  }
  rt->tasks[rt->count++] = task;
}

/* All that is said fits into the argument: no payload has to be kept. */
static void send(Runtime* rt, int rank, int id, uint64_t argument) {
  const esp_notify counted = {NULL, NULL, &rt->sending};
  ++rt->sending;
  check(rt, esp_am_send_start(rt->job, rank, id, argument, NULL, 0, &counted, NULL));
}

/* The low bits of the number are free for the depth: a task is one word. */
static uint64_t packed(Task task) {
  return task.node | task.depth;
}
static Task unpacked(uint64_t word) {
  const Task task = {word & ~UINT64_C(15), (uint32_t)(word & 15)};
  return task;
}

static void on_task(void* context, int source, uint64_t word, const void* none, size_t bytes) {
  (void)none, (void)bytes;
  Runtime* rt = context;
  if (rt->waker < 0) {
    rt->waker = source;
  } else {
    send(rt, source, kThanks, 0);
  }
  push(rt, unpacked(word));
}

static void on_thanks(void* context, int source, uint64_t word, const void* none, size_t bytes) {
  (void)source, (void)word, (void)none, (void)bytes;
  --((Runtime*)context)->unthanked;
}

static void on_stop(void* context, int source, uint64_t word, const void* none, size_t bytes) {
  (void)source, (void)word, (void)none, (void)bytes;
  ((Runtime*)context)->stop = 1;
}

static void run_task(Runtime* rt) {
  const Task task = rt->tasks[--rt->count];
  const unsigned n = children(task);
  ++rt->counted;
  for (unsigned i = 0; i < n; ++i) {
    const Task next = child(task, i);
    const int to = (int)(hash(next.node + 1) % (uint64_t)rt->size);
    if (next.depth > kShareDepth || to == rt->rank) {
      push(rt, next);
    } else {
      ++rt->unthanked;
      send(rt, to, kTask, packed(next));
    }
  }
}

/* Without tasks: nothing of what this rank was woken for is left anywhere if all is thanked for. */
static void rest(Runtime* rt) {
  if (rt->waker < 0 || rt->unthanked > 0) return;
  const int waker = rt->waker;
  rt->waker = -1;
  if (waker != rt->rank) {
    send(rt, waker, kThanks, 0);
    return;
  }
  for (int rank = 0; rank < rt->size; ++rank) send(rt, rank, kStop, 0);
}

/* Sleeps until something comes. Other descriptors of a program would go into the same poll. Now and
 * then work comes just when the time is over; mostly it is the descriptor that tells of it. */
static void sleep_on(Runtime* rt, int fd) {
  const int events = esp_job_arm(rt->job);
  if (events < 0) esp_abort(rt->job, 1, esp_job_error(rt->job));
  int woken = 1;
  if (events == 0) {
    struct pollfd wake = {fd, POLLIN, 0};
    woken = poll(&wake, 1, 100) != 0;
    rt->woken += woken;
  }
  if (esp_progress(rt->job) > 0 && !woken) ++rt->deaf;
  /* Nobody thanks for what a rank that is lost was given. */
  if (!woken && esp_job_check(rt->job) != ESP_OK) esp_abort(rt->job, 1, esp_job_error(rt->job));
}

static void loop(Runtime* rt, int fd) {
  while (!rt->stop) {
    for (int i = 0; i < 32 && rt->count > 0; ++i) run_task(rt);
    if (esp_progress(rt->job) > 0 || rt->count > 0) continue;
    rest(rt);
    sleep_on(rt, fd);
  }
}

int main(void) {
  Runtime rt = {0};
  if (esp_job_init(NULL, &rt.job) != ESP_OK) return 1;
  rt.rank = esp_job_rank(rt.job);
  rt.size = esp_job_size(rt.job);
  rt.waker = -1; /* before the barrier, in which the first tasks may come already */
  const int fd = esp_job_fd(rt.job);
  if (fd < 0) esp_abort(rt.job, 1, esp_job_error(rt.job));
  check(&rt, esp_am_register(rt.job, kTask, on_task, &rt));
  check(&rt, esp_am_register(rt.job, kThanks, on_thanks, &rt));
  check(&rt, esp_am_register(rt.job, kStop, on_stop, &rt));
  check(&rt, esp_barrier(esp_job_world(rt.job))); /* everybody takes messages */
  const Task root = {0, 0};
  if (rt.rank == 0) {
    rt.waker = 0;
    push(&rt, root);
  }
  loop(&rt, fd);
  check(&rt, esp_counter_wait(rt.job, &rt.sending, 0, 0));
  uint64_t sum = rt.counted;
  check(&rt, esp_reduce(esp_job_world(rt.job), rt.rank == 0 ? ESP_IN_PLACE : &rt.counted,
                        rt.rank == 0 ? &sum : NULL, 1, ESP_UINT64, ESP_SUM, 0));
  int wrong = rt.deaf > rt.woken;
  if (wrong) printf("rank %d: %d sleeps were too long, %d not\n", rt.rank, rt.deaf, rt.woken);
  if (rt.rank == 0) {
    wrong |= sum != count_alone(root);
    printf("%" PRIu64 " nodes counted by %d ranks, %s\n", sum, rt.size, wrong ? "WRONG" : "right");
  }
  free(rt.tasks);
  return esp_job_finalize(rt.job) != ESP_OK || wrong;
}
