// C API: teams. Contracts in espalier.h.
//
// Making teams is communication of those who meet (meeting.hpp): one sum tells everybody what
// everybody wants (a vector with a place for each, zero elsewhere), a second one where the boards
// of the new teams lie, and whether all could take the number. All then compute the same teams. Who
// has got through the second one knows that the others have got through the first. path: setup
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "api/graph.hpp"
#include "api/meeting.hpp"

using espalier::Board;
using espalier::Purpose;
using espalier::Rank;
using espalier::Team;
using espalier::api::Meeting;
namespace api = espalier::api;

namespace {

struct Wish {
  std::int64_t color = ESP_NO_TEAM;
  std::int64_t key = 0;
};
// What a member tells: color and key, each shifted to be >= 0 for the sum, and the number that it
// offers for its new team (bootstrap/team_ids.hpp).
constexpr std::size_t kWishWords = 3;

// Members of the new teams, by color, in their new order (ranks in the parent).
using Groups = std::map<std::int64_t, std::vector<int>>;

struct Agreement {
  Groups groups;
  std::uint32_t id = 0;  // of each of them
};

std::uint32_t offer_id(esp_job& job, const Wish& mine, std::uint32_t lead) {
  std::uint32_t id = 0;
  if (mine.color != ESP_NO_TEAM) api::on_owner(job, [&] { id = job.team_ids.offer(lead); });
  return id;
}

std::uint64_t hash_of(std::span<const int> ranks) {
  std::uint64_t hash = ranks.size();
  for (const int rank : ranks) {
    hash ^= static_cast<std::uint64_t>(rank);
    hash = espalier::splitmix64(hash);
  }
  return hash;
}

esp_status agree(const Meeting& meeting, const Wish& mine, Agreement& agreed) {
  const std::size_t n = meeting.size();
  std::vector<std::uint64_t> words(n * kWishWords, 0);
  std::uint64_t* own = &words[meeting.place() * kWishWords];
  own[0] = static_cast<std::uint64_t>(mine.color) + 1;
  own[1] = static_cast<std::uint64_t>(mine.key) + (std::uint64_t{1} << 32);
  own[2] = offer_id(*meeting.parent.job, mine, 0);
  const std::uint64_t list = hash_of(meeting.listed);
  words.push_back(list);
  const esp_status status = meeting.sum(words);
  if (status != ESP_OK) return status;
  if (words.back() != n * list) {
    return api::fail(
        *meeting.parent.job, ESP_ERR_MISMATCH,
        fmt::format("esp_team_create: members name different lists for tag {}", meeting.tag));
  }
  std::vector<std::pair<std::uint64_t, int>> by_key;
  for (std::size_t m = 0; m < n; ++m) {
    const std::uint64_t* w = &words[m * kWishWords];
    agreed.id = std::max(agreed.id, static_cast<std::uint32_t>(w[2]));
    by_key.emplace_back(w[1], static_cast<int>(m));
  }
  std::stable_sort(by_key.begin(), by_key.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, member] : by_key) {
    const auto i = static_cast<std::size_t>(member);
    const auto color = static_cast<std::int64_t>(words[i * kWishWords]) - 1;
    if (color >= 0) agreed.groups[color].push_back(meeting.member(i));
  }
  return ESP_OK;
}

// One board of a new team: of its members on one node, the first of which gives the memory.
struct BoardPlace {
  std::int64_t color = 0;
  std::int32_t node = 0;
  int giver = 0;          // rank in the parent
  std::size_t nodes = 1;  // of the whole team
  int rows = 0;           // its members there
};

// Equal on all members of the parent.
std::vector<BoardPlace> board_places(const esp_team& parent, const Groups& groups) {
  const esp_job& job = *parent.job;
  std::vector<BoardPlace> places;
  for (const auto& [color, members] : groups) {
    const std::size_t first = places.size();
    std::unordered_map<std::int32_t, std::size_t> of_node;
    for (const int member : members) {
      const Rank rank = parent.team.members[static_cast<std::size_t>(member)];
      const std::int32_t node = job.directory.node_of(rank);
      const auto [at, is_new] = of_node.emplace(node, places.size());
      if (is_new) places.push_back({color, node, member});
      ++places[at->second].rows;
    }
    for (std::size_t i = first; i < places.size(); ++i) places[i].nodes = places.size() - first;
  }
  return places;
}

// Where there is no room for slots, of a team on several nodes calls and reports at least.
void* give_board(esp_job& job, const BoardPlace& place, bool& slots) {
  espalier::BoardShape shape = {place.rows, place.nodes > 1, true};
  void* memory = nullptr;
  api::on_owner(job, [&] {
    espalier::bury_boards(job);
    memory = job.heap->allocate(espalier::board_bytes(job, shape));
    if (memory != nullptr || place.nodes == 1) return;
    shape.slots = false;
    memory = job.heap->allocate(espalier::board_bytes(job, shape));
  });
  slots = shape.slots;
  if (memory == nullptr) return nullptr;
  espalier::board_in(job, static_cast<std::byte*>(memory), shape, 0).clear();
  return memory;
}

// Spends the number. 1: this rank cannot, because it was spent in the meantime.
std::uint64_t claim(esp_job& job, const Wish& mine, std::uint32_t id) {
  bool claimed = true;
  if (mine.color != ESP_NO_TEAM) api::on_owner(job, [&] { claimed = job.team_ids.claim(id); });
  return claimed ? 0 : 1;
}

esp_status refuse_number(esp_job& job) {
  return api::fail(job, ESP_ERR_NO_MEMORY,
                   fmt::format("a member has been in all {} teams that can be numbered",
                               espalier::TeamIds::kLast));
}

// Another number, as often as a member refuses it (`refused`: of how many members the last one).
esp_status agree_again(const Meeting& meeting, const Wish& mine, std::uint64_t refused,
                       std::uint32_t& id) {
  esp_job& job = *meeting.parent.job;
  for (unsigned attempt = 1; refused != 0; ++attempt) {
    std::vector<std::uint64_t> offers(meeting.size(), 0);
    offers[meeting.place()] =
        offer_id(job, mine, espalier::TeamIds::lead(meeting.parent.team.id, attempt));
    esp_status status = meeting.sum(offers);
    if (status != ESP_OK) return status;
    id = static_cast<std::uint32_t>(*std::max_element(offers.begin(), offers.end()));
    if (id > espalier::TeamIds::kLast) return refuse_number(job);
    std::vector<std::uint64_t> answer = {claim(job, mine, id)};
    status = meeting.sum(answer);
    if (status != ESP_OK) return status;
    refused = answer.front();
  }
  return ESP_OK;
}

// What is told of a board: its offset in the segment of its node and these; 0: there is none.
constexpr std::uint64_t kIsThere = 1, kHasSlots = 2;

// Where the boards are. One more word counts the members that refuse the number.
esp_status place_boards(const Meeting& meeting, const std::vector<BoardPlace>& places,
                        void*& own_memory, std::vector<std::uint64_t>& boards,
                        std::uint64_t& refused) {
  esp_job& job = *meeting.parent.job;
  boards.assign(places.size() + 1, 0);
  boards.back() = refused;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].giver != meeting.parent.team.rank) continue;
    bool slots = false;
    own_memory = give_board(job, places[i], slots);
    if (own_memory == nullptr) continue;
    boards[i] = job.segment->offset_of(own_memory) | kIsThere | (slots ? kHasSlots : 0);
  }
  const esp_status status = meeting.sum(boards);
  refused = boards.back();
  boards.pop_back();
  return status;
}

espalier::TeamBoard board_of(const esp_job& job, const std::vector<BoardPlace>& places,
                             const std::vector<std::uint64_t>& boards, std::int64_t color) {
  espalier::TeamBoard board = {nullptr, false, true};
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].color != color) continue;
    const bool slots = (boards[i] & kHasSlots) != 0;
    board.everywhere = board.everywhere && slots;
    if (places[i].node != job.nodes.own || boards[i] == 0) continue;
    board.memory = job.segment->at(boards[i] & ~(kIsThere | kHasSlots));
    board.slots = slots;
  }
  return board;
}

esp_status make_teams(const Meeting& meeting, const Wish& mine, esp_team** made) {
  esp_team& parent = meeting.parent;
  const api::Caller caller(parent);
  esp_job& job = *parent.job;
  Agreement agreed;
  esp_status status = agree(meeting, mine, agreed);
  if (status != ESP_OK || agreed.groups.empty()) return status;
  if (agreed.id > espalier::TeamIds::kLast) return refuse_number(job);
  void* own_memory = nullptr;
  std::vector<std::uint64_t> boards;
  std::uint64_t refused = claim(job, mine, agreed.id);
  const std::vector<BoardPlace> places = board_places(parent, agreed.groups);
  status = place_boards(meeting, places, own_memory, boards, refused);
  if (status == ESP_OK) status = agree_again(meeting, mine, refused, agreed.id);
  // Others may know the board and use it though this member fails: the memory stays theirs.
  if (status != ESP_OK) return status;
  const auto own = agreed.groups.find(mine.color);
  if (own == agreed.groups.end()) return ESP_OK;
  api::on_owner(job, [&] {
    std::vector<Rank> ranks;
    for (const int m : own->second) {
      ranks.push_back(parent.team.members[static_cast<std::size_t>(m)]);
    }
    esp_team& team = espalier::add_team(job, agreed.id, std::move(ranks),
                                        board_of(job, places, boards, mine.color));
    team.board_memory = own_memory;
    *made = &team;
  });
  return ESP_OK;
}

esp_status check_list(const esp_team& parent, const char* caller, const int* ranks, int count) {
  esp_job& job = *parent.job;
  if (count < 0 || (ranks == nullptr && count > 0)) {
    return api::fail(job, ESP_ERR_ARGUMENT, fmt::format("{}: no list", caller));
  }
  std::vector<bool> seen(static_cast<std::size_t>(parent.team.size()), false);
  for (int i = 0; i < count; ++i) {
    if (ranks[i] < 0 || ranks[i] >= parent.team.size() ||
        seen[static_cast<std::size_t>(ranks[i])]) {
      return api::fail(job, ESP_ERR_ARGUMENT,
                       fmt::format("{}: rank {} at position {} is outside the team of {} or listed "
                                   "twice",
                                   caller, ranks[i], i, parent.team.size()));
    }
    seen[static_cast<std::size_t>(ranks[i])] = true;
  }
  return ESP_OK;
}

Wish listed_wish(const esp_team& parent, const int* ranks, int count) {
  const int* found = std::find(ranks, ranks + count, parent.team.rank);
  return found != ranks + count ? Wish{0, found - ranks} : Wish{};
}

}  // namespace

extern "C" {

int esp_team_rank(const esp_team* team) {
  return team != nullptr ? team->team.rank : -1;
}
int esp_team_size(const esp_team* team) {
  return team != nullptr ? team->team.size() : 0;
}
esp_job* esp_team_job(const esp_team* team) {
  return team != nullptr ? team->job : nullptr;
}
int esp_team_job_rank(const esp_team* team, int rank) {
  if (team == nullptr || rank < 0 || rank >= team->team.size()) return -1;
  return team->team.members[static_cast<std::size_t>(rank)];
}
int esp_team_rank_of(const esp_team* team, int job_rank) {
  if (team == nullptr || job_rank < 0 || job_rank >= team->job->size) return -1;
  const auto members = team->team.members;
  const auto same = static_cast<std::size_t>(job_rank);
  if (same < members.size() && members[same] == job_rank) return job_rank;  // world, and many more
  const auto found = std::find(members.begin(), members.end(), job_rank);
  return found != members.end() ? static_cast<int>(found - members.begin()) : -1;
}
const char* esp_team_error(const esp_team* team) {
  if (team == nullptr) return "";
  const char* text = nullptr;
  // Written by the owner, once and for good.
  api::on_owner(*team->job, [&] {
    text = team->team.failed() ? team->team.fault_text.c_str() : team->job->errors.last();
  });
  return text;
}

esp_status esp_team_dup(esp_team* parent, esp_team** team) {
  if (parent == nullptr || team == nullptr) return ESP_ERR_ARGUMENT;
  *team = nullptr;
  if (!api::may_block(*parent->job)) return api::refuse_blocking(*parent->job, __func__);
  return make_teams({*parent, Purpose::kTeamDup, {}}, {0, parent->team.rank}, team);
}

esp_status esp_team_split(esp_team* parent, int color, int key, esp_team** team) {
  if (parent == nullptr || team == nullptr) return ESP_ERR_ARGUMENT;
  *team = nullptr;
  if (!api::may_block(*parent->job)) return api::refuse_blocking(*parent->job, __func__);
  if (color < ESP_NO_TEAM) {
    return api::fail(*parent->job, ESP_ERR_ARGUMENT,
                     fmt::format("esp_team_split: color {}", color));
  }
  return make_teams({*parent, Purpose::kTeamSplit, {}}, {color, key}, team);
}

esp_status esp_team_include(esp_team* parent, const int* ranks, int count, esp_team** team) {
  if (parent == nullptr || team == nullptr) return ESP_ERR_ARGUMENT;
  *team = nullptr;
  if (!api::may_block(*parent->job)) return api::refuse_blocking(*parent->job, __func__);
  const esp_status status = check_list(*parent, __func__, ranks, count);
  if (status != ESP_OK) return status;
  return make_teams({*parent, Purpose::kTeamInclude, {}}, listed_wish(*parent, ranks, count), team);
}

esp_status esp_team_create(esp_team* parent, const int* ranks, int count, uint64_t tag,
                           esp_team** team) {
  if (parent == nullptr || team == nullptr) return ESP_ERR_ARGUMENT;
  *team = nullptr;
  if (!api::may_block(*parent->job)) return api::refuse_blocking(*parent->job, __func__);
  const esp_status status = check_list(*parent, __func__, ranks, count);
  if (status != ESP_OK) return status;
  const Wish wish = listed_wish(*parent, ranks, count);
  if (wish.color == ESP_NO_TEAM) {
    return api::fail(
        *parent->job, ESP_ERR_ARGUMENT,
        fmt::format("esp_team_create: rank {} calls and is not listed", parent->team.rank));
  }
  const std::span<const int> listed(ranks, static_cast<std::size_t>(count));
  return make_teams({*parent, Purpose::kUser, listed, tag}, wish, team);
}

esp_status esp_team_free(esp_team* team) {
  if (team == nullptr) return ESP_ERR_ARGUMENT;
  esp_job& job = *team->job;
  if (team->is_world)
    return api::fail(job, ESP_ERR_STATE, "esp_team_free: the world team belongs to the job");
  esp_status status = ESP_OK;
  api::on_owner(job, [&] {
    if (team->team.active != nullptr || team->team.is_in_use() || team->team.tagged > 0) {
      status = api::fail(job, ESP_ERR_STATE, "esp_team_free: operations are under way");
      return;
    }
    if (std::any_of(job.regions.begin(), job.regions.end(),
                    [&](const auto& region) { return region->team == team; })) {
      status = api::fail(job, ESP_ERR_STATE, "esp_team_free: it has regions");
      return;
    }
    api::unbind_all(*team);
    api::leave_graphs(*team);
    job.watch->remove(team->team);
    job.tags->forget(team->team);
    job.shm_wire->forget_team(team->team.id);
    if (team->team.nodes() != nullptr) job.network->forget_team(team->team.id);
    // Tells the owner of the board that this member is done with it.
    Team& gone = team->team;
    if (gone.board) gone.board.leave(gone.row(gone.rank), gone.sequence);
    if (team->board_memory != nullptr) {
      const int rows = static_cast<int>(gone.bells.size());  // those that share it
      job.old_boards.push_back({gone.board, rows, team->board_memory});
    }
    const auto owned = std::find_if(job.teams.begin(), job.teams.end(),
                                    [&](const auto& t) { return t.get() == team; });
    job.teams.erase(owned);
  });
  return status;
}

}  // extern "C"
