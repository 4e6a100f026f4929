#include "tools/esp-tune/tuner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>

#include "bootstrap/find_profile.hpp"
#include "core/config_value.hpp"
#include "core/host.hpp"
#include "tools/esp-sim/progress.hpp"
#include "tools/esp-tune/call.hpp"

namespace esp_tune {
namespace {

using espalier::Collective;
using espalier::Situation;

constexpr std::uint64_t kGrid[] = {8,     32,     128,    512,     2048,   8192,
                                   32768, 131072, 524288, 2097152, 4194304};
// Of all blocks together: longer ones take seconds.
constexpr std::size_t kGridBufferBytes = 16 << 20;
constexpr int kEnd = -1;

// From rank 0 to all.
struct Order {
  int place = kEnd;
  int collective = 0;  // or the exit code
  std::uint64_t bytes = 0;
  double seconds = 0;
};

void check(esp_job* job, esp_status status) {
  if (status == ESP_OK) return;
  throw std::runtime_error(fmt::format("{}: {}", esp_status_text(status), esp_job_error(job)));
}

std::string report_of(const esp_job* job) {
  std::string text(esp_job_describe(job, nullptr, 0) + 1, '\0');
  esp_job_describe(job, text.data(), text.size());
  return text;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// "2026-11-28 09:12 UTC on vm (2 CPUs, Intel Xeon) by esp-tune 0.1.0"
std::string maker() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char time[32], host[256] = "";
  std::strftime(time, sizeof time, "%Y-%m-%d %H:%M", &utc);
  gethostname(host, sizeof host - 1);
  return fmt::format("{} UTC on {} ({} CPUs, {}) by esp-tune {}.{}.{}", time, host,
                     std::thread::hardware_concurrency(), cpu_model(), ESP_VERSION_MAJOR,
                     ESP_VERSION_MINOR, ESP_VERSION_PATCH);
}

// The places and their teams: made by all, alike.
class Stage {
 public:
  Stage(esp_job* job, const std::vector<int>& ranks) : job_(job) {
    std::vector<int> nodes;
    for (int rank = 0; rank < esp_job_size(job); ++rank) nodes.push_back(esp_job_node(job, rank));
    const std::string report = report_of(job);
    places_ = places_of(nodes, ranks, network_of(report), cores_of(report));
    for (const Place& place : places_) {
      esp_team* team = nullptr;
      check(job, esp_team_include(esp_job_world(job), place.members.data(),
                                  static_cast<int>(place.members.size()), &team));
      teams_.push_back(team);
    }
  }

  const std::vector<Place>& places() const { return places_; }
  int rank() const { return esp_job_rank(job_); }
  // What rank 0 says to all.
  Order tell(Order order) const {
    check(job_, esp_bcast(esp_job_world(job_), &order, sizeof order, ESP_BYTE, 0));
    return order;
  }
  // Those who are not of the team wait for the next order.
  std::optional<Measured> obey(const Order& order) const {
    esp_team* team = teams_[static_cast<std::size_t>(order.place)];
    if (team == nullptr) return {};
    return measure(team, static_cast<Collective>(order.collective), order.bytes, order.seconds);
  }

 private:
  esp_job* job_;
  std::vector<Place> places_;
  std::vector<esp_team*> teams_;  // end with the job
};

// Rank 0.
class Director {
 public:
  Director(const Stage& stage, const Options& options, Notebook notebook)
      : stage_(stage), options_(options), notebook_(std::move(notebook)) {
    for (const Collective collective : options.operations) {
      for (std::size_t k = 0; k < stage.places().size(); ++k) plan(static_cast<int>(k), collective);
    }
    progress_.emplace(total());
  }

  int run();

 private:
  struct Part {  // a series of the notebook
    int place;
    Situation situation;
    std::vector<std::uint64_t> sizes;  // to be measured at first
  };

  // For what the refinement of a series will take.
  std::size_t refinements() const { return options_.bytes.empty() ? 2 : 0; }
  std::uint64_t total() const {
    std::uint64_t cells = 0;
    for (const Part& part : parts_) cells += part.sizes.size();
    return cells;
  }
  void plan(int place, Collective collective);
  bool measure_cell(const Part& part, std::uint64_t bytes);
  bool measure_part(const Part& part);
  bool refine(const Part& part);
  bool doubt(const Part& part, std::size_t first);
  bool save();
  void say(const Part& part) const;
  double left_seconds() const { return options_.minutes * 60 - (esp_time() - start_); }

  const Stage& stage_;
  const Options& options_;
  Notebook notebook_;
  std::vector<Part> parts_;
  std::vector<Situation> done_;  // in this run
  std::optional<esp_sim::Progress> progress_;
  double start_ = esp_time();
  std::size_t parts_done_ = 0;
  std::uint64_t cells_left_ = 0, cells_done_ = 0;
};

void Director::plan(int place, Collective collective) {
  Part part{place, stage_.places()[static_cast<std::size_t>(place)].where, {}};
  part.situation.collective = collective;
  for (const std::uint64_t bytes : sizes_of(collective, part.situation.ranks, options_.bytes)) {
    part.situation.bytes = bytes;
    if (options_.again || !notebook_.has(part.situation)) part.sizes.push_back(bytes);
  }
  parts_.push_back(part);
}

bool Director::save() {
  const auto saved = notebook_.save();
  if (!saved) fmt::print(stderr, "esp-tune: {}\n", saved.error().text);
  return saved.ok();
}

bool Director::measure_cell(const Part& part, std::uint64_t bytes) {
  Situation situation = part.situation;
  situation.bytes = bytes;
  const auto parts_left = static_cast<double>(parts_.size() - parts_done_);
  const double cells =
      static_cast<double>(cells_left_) + parts_left * static_cast<double>(refinements());
  Order order{part.place, static_cast<int>(situation.collective), bytes,
              std::max(left_seconds(), 0.0) / std::max(cells, 1.0)};
  progress_->show(cells_done_,
                  fmt::format("{} on {} ranks, {}", collective_name(situation.collective),
                              situation.ranks, espalier::format_size(bytes)));
  const auto measured = stage_.obey(stage_.tell(order));
  if (!measured) throw std::logic_error("rank 0 is not in a team");
  notebook_.add(situation, *measured);
  done_.push_back(situation);
  return save();
}

// Between neighbours with different choices, until they are a factor of 2 apart.
bool Director::refine(const Part& part) {
  for (bool found = true; found;) {
    found = false;
    for (const Notebook::Change& change : notebook_.changes(part.situation)) {
      Situation between = part.situation;
      between.bytes = size_between(change.below, change.above);
      if (between.bytes == 0 || notebook_.has(between)) continue;
      if (!measure_cell(part, between.bytes)) return false;
      found = true;
      break;
    }
  }
  return true;
}

// What is the fastest at one size alone was noise, unless it is again.
bool Director::doubt(const Part& part, std::size_t first) {
  for (const std::uint64_t bytes : notebook_.islands(part.situation)) {
    const auto now = std::any_of(done_.begin() + static_cast<std::ptrdiff_t>(first), done_.end(),
                                 [&](const Situation& done) { return done.bytes == bytes; });
    if (!now) continue;
    if (!measure_cell(part, bytes)) return false;
    done_.pop_back();  // no other cell
  }
  return true;
}

bool Director::measure_part(const Part& part) {
  const std::size_t first = done_.size();
  for (const std::uint64_t bytes : part.sizes) {
    if (!measure_cell(part, bytes)) return false;
    --cells_left_;
    ++cells_done_;
  }
  if (options_.bytes.empty() && !refine(part)) return false;
  return doubt(part, first);
}

int Director::run() {
  cells_left_ = total();
  if (cells_left_ > 0 && !save()) return 1;  // found out before anything is measured
  for (const Part& part : parts_) {
    const std::size_t before = done_.size();
    if (!measure_part(part)) return 1;
    ++parts_done_;
    if (isatty(STDERR_FILENO) == 0 && done_.size() > before) say(part);
  }
  progress_.reset();
  if (done_.empty()) {
    fmt::print(stderr, "esp-tune: {} has all of it; --again measures it anew\n", notebook_.path());
    return 0;
  }
  const auto other = std::count_if(done_.begin(), done_.end(), [&](const Situation& situation) {
    return !notebook_.is_left_to_rules(situation);
  });
  fmt::print(stderr, "esp-tune: {}: {} cells measured, in {} another choice than the rules'\n",
             notebook_.path(), done_.size(), other);
  return 0;
}

// Where there is no terminal for a bar.
void Director::say(const Part& part) const {
  fmt::print(stderr, "esp-tune: {} on {} ranks: {} ({} of {} cells, {:.1f} min left)\n",
             collective_name(part.situation.collective), part.situation.ranks,
             notebook_.summary(part.situation), cells_done_, total(),
             std::max(left_seconds(), 0.0) / 60);
}

// The exit code, when nothing can be measured.
int give_up(const std::string& text) {
  fmt::print(stderr, "esp-tune: {}\n", text);
  return 2;
}

int direct(const Stage& stage, const Options& options) {
  const std::vector<std::string> places = espalier::profile_places();
  if (options.output.empty() && places.size() == 1) {
    return give_up("neither XDG_CONFIG_HOME nor HOME is set: give an --output");
  }
  const std::string& path = options.output.empty() ? places.front() : options.output;
  auto notebook = Notebook::open(path, maker());
  if (!notebook) {
    return give_up(notebook.error().text +
                   "\nThe file stays as it is: mend it, or give another --output.");
  }
  return Director(stage, options, std::move(*notebook)).run();
}

}  // namespace

std::vector<std::uint64_t> sizes_of(Collective collective, int ranks,
                                    const std::vector<std::uint64_t>& bytes) {
  if (collective == Collective::kBarrier) return {0};
  std::vector<std::uint64_t> sizes = bytes;
  if (bytes.empty()) sizes.assign(std::begin(kGrid), std::end(kGrid));
  const std::size_t most = bytes.empty() ? kGridBufferBytes : Call::kBufferBytesMax;
  std::erase_if(sizes, [&](std::uint64_t size) {
    return Call::buffer_bytes(collective, ranks, size) > most;
  });
  return sizes;
}

std::uint64_t size_between(std::uint64_t below, std::uint64_t above) {
  if (below == 0 || above / below < 4) return 0;
  std::uint64_t between = below;
  while (between * between < below * above / 2) between *= 2;
  return between;
}

int tune(esp_job* job, const Options& options) {
  const Stage stage(job, options.ranks);
  if (stage.rank() == 0) {
    const int code = direct(stage, options);
    return stage.tell({kEnd, code, 0, 0}).collective;
  }
  while (true) {
    const Order order = stage.tell({});
    if (order.place == kEnd) return order.collective;
    (void)stage.obey(order);
  }
}

}  // namespace esp_tune
