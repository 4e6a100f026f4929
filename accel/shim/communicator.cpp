#include "accel/shim/communicator.hpp"

#include <atomic>
#include <bit>
#include <numeric>
#include <utility>

namespace espalier::accel {
namespace {

std::mutex g_mutex;  // of these
std::vector<std::unique_ptr<Communicator>> g_communicators;
std::vector<esp_team*> g_given_up;  // their communicators are gone
std::uint64_t g_met = 0;            // how many there have been
// The one that was asked for last. A handle may be used again when its communicator has been freed.
thread_local MPI_Comm g_last_handle = MPI_COMM_NULL;
thread_local Communicator* g_last = nullptr;
thread_local std::uint64_t g_last_freed = 0;
std::atomic<std::uint64_t> g_freed{0};  // how many have been; publishes nothing

std::string name_of(MPI_Comm comm) {
  std::array<char, MPI_MAX_OBJECT_NAME> name = {};
  int length = 0;
  PMPI_Comm_get_name(comm, name.data(), &length);
  return length > 0 ? name.data() : "unnamed";
}

// The MPI may come here whenever it goes on, also while the library waits and drives it: the team
// is freed later. For reports and profiles the object stays, with what has been counted and chosen.
int on_delete(MPI_Comm, int, void* attribute, void*) {
  auto& gone = *static_cast<Communicator*>(attribute);
  g_freed.fetch_add(1, std::memory_order_relaxed);
  if (state().reports) gone.name = name_of(gone.handle);
  gone.handle = MPI_COMM_NULL;
  const std::lock_guard lock(g_mutex);
  if (gone.team != nullptr) g_given_up.push_back(std::exchange(gone.team, nullptr));
  if (state().reports || state().saves) return MPI_SUCCESS;
  std::erase_if(g_communicators, [&](auto& c) { return c.get() == &gone; });
  return MPI_SUCCESS;
}

// Below a Turn. One that has operations under way stays until the job ends; the world's is not
// ours.
void free_given_up() {
  std::vector<esp_team*> teams;
  {
    const std::lock_guard lock(g_mutex);
    teams.swap(g_given_up);
  }
  for (esp_team* team : teams) {
    if (team != esp_job_world(state().job)) (void)esp_team_free(team);
  }
}

Communicator* make(MPI_Comm comm) {
  auto made = std::make_unique<Communicator>();
  made->handle = comm;
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  PMPI_Comm_size(comm, &made->size);
  PMPI_Comm_rank(comm, &made->rank);
  if (is_inter != 0) {
    made->refusal = Reason::kInter;
  } else if (made->size == 1) {
    made->refusal = Reason::kAlone;
  } else if (comm == MPI_COMM_WORLD) {
    made->take_team(esp_job_world(state().job));
  }
  made->name = name_of(comm);
  if (PMPI_Comm_set_attr(comm, state().keyval, made.get()) != MPI_SUCCESS) return nullptr;
  const std::lock_guard lock(g_mutex);
  ++g_met;
  return g_communicators.emplace_back(std::move(made)).get();
}

// The members' ranks in MPI_COMM_WORLD; empty: not all are there.
std::vector<int> ranks_of(MPI_Comm comm, int size) {
  std::vector<int> inside(static_cast<std::size_t>(size)), ranks(inside.size());
  std::iota(inside.begin(), inside.end(), 0);
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  PMPI_Group_translate_ranks(group, size, inside.data(), state().everybody, ranks.data());
  PMPI_Group_free(&group);
  for (const int rank : ranks) {
    if (rank == MPI_UNDEFINED) return {};
  }
  return ranks;
}

// Its first member says it, for threads may make several at once of the same members.
std::uint64_t tag_of(MPI_Comm comm) {
  static_assert(sizeof(unsigned long) == sizeof(std::uint64_t));
  const std::lock_guard lock(g_mutex);
  return bits_of(comm) << 32 | g_met;
}

void make_team(Communicator& communicator) {
  const MPI_Comm comm = communicator.handle;
  std::vector<int> ranks = ranks_of(comm, communicator.size);
  if (ranks.empty()) {
    communicator.refusal = Reason::kOtherJob;
    return;
  }
  std::uint64_t tag = tag_of(comm);
  PMPI_Bcast(&tag, 1, MPI_UNSIGNED_LONG, 0, comm);
  int made = 0, all = 0;
  {
    const Turn turn;
    free_given_up();
    made = esp_team_create(esp_job_world(state().job), ranks.data(), communicator.size, tag,
                           &communicator.team) == ESP_OK;
  }
  PMPI_Allreduce(&made, &all, 1, MPI_INT, MPI_MIN, comm);
  if (all != 0) {
    communicator.take_team(communicator.team);
    return;
  }
  if (made != 0) (void)esp_team_free(communicator.team);
  communicator.team = nullptr;
  communicator.refusal = Reason::kNoTeam;
}

}  // namespace

int Communicator::size_class(std::uint64_t bytes) noexcept {
  return std::min(static_cast<int>(std::bit_width(bytes)), static_cast<int>(kClasses) - 1);
}

// Nodes are numbered by their lowest ranks, so each new one that a member is on counts.
void Communicator::take_team(esp_team* made) {
  team = made;
  std::vector<bool> seen(static_cast<std::size_t>(esp_job_size(state().job)), false);
  for (int r = 0; r < size; ++r) {
    const int node = esp_job_node(state().job, esp_team_job_rank(team, r));
    if (!seen[static_cast<std::size_t>(node)]) ++nodes_;
    seen[static_cast<std::size_t>(node)] = true;
  }
}

Choice& Communicator::choice(Operation operation, std::uint64_t bytes) {
  auto& place = row(operation).by_size[static_cast<std::size_t>(size_class(bytes))];
  if (place == nullptr) place = std::make_unique<Choice>();
  return *place;
}

void open_communicators() {
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &on_delete, &state().keyval, nullptr);
}

// The world's stays with the MPI until that deletes it: then the job is gone, and so is the object.
void close_communicators() {
  std::vector<MPI_Comm> left;
  for (const auto& one : g_communicators) {
    if (one->handle != MPI_COMM_NULL) left.push_back(one->handle);
  }
  for (MPI_Comm comm : left) PMPI_Comm_delete_attr(comm, state().keyval);
  PMPI_Comm_free_keyval(&state().keyval);
  g_communicators.clear();
}

Communicator* communicator_of(MPI_Comm comm) {
  const std::uint64_t freed = g_freed.load(std::memory_order_relaxed);
  if (comm == g_last_handle && freed == g_last_freed && g_last != nullptr) [[likely]]
    return g_last;
  if (comm == MPI_COMM_NULL) return nullptr;
  void* attribute = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(comm, state().keyval, &attribute, &found) != MPI_SUCCESS) return nullptr;
  g_last = found != 0 ? static_cast<Communicator*>(attribute) : make(comm);
  g_last_handle = comm;
  g_last_freed = freed;
  return g_last;
}

Reason prepare(Communicator& communicator, bool blocks) {
  if (communicator.team != nullptr) [[likely]]
    return Reason::kNone;
  if (communicator.refusal != Reason::kNone) return communicator.refusal;
  if (!blocks) return Reason::kNotYet;
  make_team(communicator);
  return communicator.refusal;
}

const std::vector<std::unique_ptr<Communicator>>& communicators() noexcept {
  return g_communicators;
}

}  // namespace espalier::accel
