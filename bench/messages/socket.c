/* The floor over TCP: messages as bytes of one connection on loopback, written and read by calls
 * that block: socket SIZES SECONDS (measure.h). Where $MESSAGES_SPIN is set they do not, but look
 * again and again. path: data
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"
#include "pair.h"

static int connection;

static void send_one(const void* buffer, size_t bytes) {
  pair_write(connection, buffer, bytes);
}

static void receive_one(void* buffer, size_t bytes) {
  pair_read(connection, buffer, bytes);
}

static void send_all(const char* first, size_t bytes, size_t stride, int count) {
  for (int i = 0; i < count; ++i) pair_write(connection, first + (size_t)i * stride, bytes);
}

static void receive_all(char* first, size_t bytes, size_t stride, int count) {
  for (int i = 0; i < count; ++i) pair_read(connection, first + (size_t)i * stride, bytes);
}

/* Rank 0 listens and tells where. */
static int joined(const struct pair* pair) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr* const name = (struct sockaddr*)&at;
  socklen_t length = sizeof at;
  int made = socket(AF_INET, SOCK_STREAM, 0);
  if (made < 0) pair_fail("socket");
  if (pair->rank == 0) {
    const int listener = made;
    if (bind(listener, name, length) != 0) pair_fail("bind");
    if (listen(listener, 1) != 0) pair_fail("listen");
    if (getsockname(listener, name, &length) != 0) pair_fail("getsockname");
    pair_write(pair->channel, &at, sizeof at);
    made = accept(listener, NULL, NULL);
    if (made < 0) pair_fail("accept");
    close(listener);
  } else {
    pair_read(pair->channel, &at, sizeof at);
    if (connect(made, name, length) != 0) pair_fail("connect");
  }
  const int yes = 1;
  if (setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0) pair_fail("TCP_NODELAY");
  if (getenv("MESSAGES_SPIN") != NULL && fcntl(made, F_SETFL, O_NONBLOCK) != 0) pair_fail("fcntl");
  return made;
}

int main(int argc, char** argv) {
  const struct pair pair = pair_begin();
  const struct library socket = {pair.rank, send_one, receive_one, send_all, receive_all};
  connection = joined(&pair);
  const int result = measure_messages(&socket, argc, argv);
  close(connection);
  return pair_end(&pair, result);
}
