#include "accel/shim/profile.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace espalier::accel {
namespace {

// Operation, processes, nodes, size class.
using Key = std::tuple<std::string, int, int, int>;
std::map<Key, Side> g_known;  // written before the first call, then only read

#if defined(OPEN_MPI)
constexpr const char* kMpi = "openmpi";
#elif defined(MPICH_VERSION)
constexpr const char* kMpi = "mpich";
#else
constexpr const char* kMpi = "abi";
#endif

constexpr const char* kTitle = "# espalier accelerator profile 1";

const char* variable(const char* name) noexcept {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool is_first() {
  int rank = 0;
  PMPI_Comm_rank(state().own, &rank);
  return rank == 0;
}

// Empty: there is none, or it cannot be read (errno).
std::string read(const char* path) {
  std::string text;
  errno = 0;
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return text;
  std::array<char, 4096> part;
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), file)) > 0;) {
    text.append(part.data(), n);
  }
  std::fclose(file);
  return text;
}

// Calls go(whole line, its MPI, key, side) for each row that is one. Returns the numbers of the
// lines that are neither that nor a comment.
template <typename Go>
std::vector<int> each_row(const std::string& text, Go&& go) {
  std::vector<int> strange;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    char mpi[16] = "", operation[32] = "", side[16] = "";
    int ranks = 0, nodes = 0, size_class = 0;
    const int read = std::sscanf(line.c_str(), "%15s %31s %d %d %d %15s", mpi, operation, &ranks,
                                 &nodes, &size_class, side);
    const bool ours = std::strcmp(side, "espalier") == 0;
    if (read == 6 && (ours || std::strcmp(side, "mpi") == 0)) {
      go(line, mpi, Key{operation, ranks, nodes, size_class}, ours ? Side::kOurs : Side::kMpi);
    } else {
      strange.push_back(number);
    }
  }
  return strange;
}

std::vector<int> learn(const std::string& text) {
  return each_row(text, [](const std::string&, const char* mpi, const Key& key, Side side) {
    if (std::strcmp(mpi, kMpi) == 0) g_known[key] = side;
  });
}

}  // namespace

void load_profile() {
  const char* path = variable("ESPALIER_ACCEL_PROFILE");
  std::string text;
  if (is_first() && path != nullptr) {
    text = read(path);
    if (text.rfind(kTitle, 0) != 0) {
      const char* why = errno != 0 ? std::strerror(errno) : "it begins otherwise";
      std::fprintf(stderr, "espalier: %s is not an accelerator profile that can be read: %s\n",
                   path, why);
      text.clear();
    }
  }
  unsigned long bytes = text.size();
  PMPI_Bcast(&bytes, 1, MPI_UNSIGNED_LONG, 0, state().own);
  text.resize(bytes);
  PMPI_Bcast(text.data(), static_cast<int>(bytes), MPI_BYTE, 0, state().own);
  for (const int line : learn(text)) {
    if (!is_first()) break;
    std::fprintf(stderr, "espalier: %s:%d: not a row of a profile, which is left out\n", path,
                 line);
  }
}

std::optional<Side> known_side(Operation operation, const Communicator& communicator,
                               std::uint64_t bytes) {
  if (g_known.empty()) return std::nullopt;
  const auto found = g_known.find({operation_name(operation), communicator.size,
                                   communicator.nodes(), Communicator::size_class(bytes)});
  return found != g_known.end() ? std::optional(found->second) : std::nullopt;
}

void save_profile() {
  const char* path = variable("ESPALIER_ACCEL_SAVE");
  if (path == nullptr || !is_first()) return;
  const std::string before = read(path);
  if (!before.empty() && before.rfind(kTitle, 0) != 0) {
    std::fprintf(stderr, "espalier: %s is something else than a profile, and stays as it is\n",
                 path);
    return;
  }
  for (const auto& one : communicators()) {
    for (std::size_t op = 0; op < kOperations; ++op) {
      const auto& by_size = one->rows[op].by_size;
      for (std::size_t c = 0; c < by_size.size(); ++c) {
        if (by_size[c] == nullptr || !by_size[c]->is_decided()) continue;
        g_known[{operation_name(static_cast<Operation>(op)), one->size, one->nodes(),
                 static_cast<int>(c)}] = by_size[c]->side();
      }
    }
  }
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) {
    std::fprintf(stderr, "espalier: %s: %s\n", path, std::strerror(errno));
    return;
  }
  std::fprintf(file, "%s\n# MPI, operation, processes, nodes, bytes below 2^, side\n", kTitle);
  (void)each_row(before, [&](const std::string& line, const char* mpi, const Key& key, Side) {
    const bool anew = std::strcmp(mpi, kMpi) == 0 && g_known.count(key) != 0;
    if (!anew) std::fprintf(file, "%s\n", line.c_str());
  });
  for (const auto& [key, side] : g_known) {
    const auto& [operation, ranks, nodes, size_class] = key;
    std::fprintf(file, "%s %s %d %d %d %s\n", kMpi, operation.c_str(), ranks, nodes, size_class,
                 side == Side::kOurs ? "espalier" : "mpi");
  }
  std::fclose(file);
}

}  // namespace espalier::accel
