#include "threads/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace espalier::bench {
namespace {

constexpr std::size_t kLargest = std::size_t{64} << 20;
constexpr std::size_t kWindowBytes = std::size_t{256} << 20;

[[noreturn]] void refuse(const std::string& text) {
  std::fprintf(stderr, "esp-threads: %s\nRun with --help, or `esp-threads MEASURE --help`.\n",
               text.c_str());
  std::exit(2);
}

// One measurement of the command line; its defaults are the values of `options`.
class Measure {
 public:
  Measure(CLI::App& app, Options& options, const char* name, const char* about)
      : app_(*app.add_subcommand(name, about)), options_(options) {
    app_.add_option("--json", options.json_path, "where rank 0 writes the results (-: stdout)");
    app_.add_flag("!--quiet", options.table, "no table");
  }

  void names(const char* option, std::vector<std::string>& into,
             const std::vector<std::string>& known, const char* about) {
    on_use([&into, known] {
      if (into.empty()) into = known;
    });
    app_.add_option(option, into, about)->delimiter(',')->check(CLI::IsMember(known));
  }

  void bytes(const std::vector<std::size_t>& usual, const char* about) {
    on_use([this, usual] {
      if (options_.bytes.empty()) options_.bytes = usual;
    });
    app_.add_option("--bytes", options_.bytes, about)
        ->delimiter(',')
        ->transform(CLI::AsSizeValue(false));
  }

  void numbers(const char* option, std::vector<int>& into, const std::vector<int>& usual, int most,
               const char* about) {
    on_use([&into, usual] {
      if (into.empty()) into = usual;
    });
    app_.add_option(option, into, about)->delimiter(',')->check(CLI::Range(1, most));
  }

  void iterations(int usual, const char* about) {
    on_use([this, usual] {
      if (options_.iterations == 0) options_.iterations = usual;
    });
    app_.add_option("--iterations", options_.iterations,
                    std::string(about) + " (default " + std::to_string(usual) + ")")
        ->check(CLI::Range(3, 10'000'000));
  }

  CLI::App& app() { return app_; }
  bool is_used() const { return app_.parsed(); }
  void use() const {
    options_.measure = app_.get_name();
    for (const auto& set : defaults_) set();
  }

 private:
  void on_use(std::function<void()> set) { defaults_.push_back(std::move(set)); }

  CLI::App& app_;
  Options& options_;
  std::vector<std::function<void()>> defaults_;
};

constexpr const char* kTenth = "for messages up to 4 KiB; a tenth above, of 30 and more";

Measure latency(CLI::App& app, Options& options, Library library) {
  Measure measure(app, options, "latency",
                  "two ranks: thread i of one plays ping-pong with thread i of the other; half a "
                  "round trip");
  if (library == Library::kMpi) {
    measure.names("--ways", options.ways, {"multiple", "single"},
                  "MPI_THREAD_MULTIPLE; MPI_THREAD_SINGLE, for one thread. One in a launch");
  } else {
    measure.names("--ways", options.ways, {"direct", "lock", "offload"},
                  "direct: one thread, which drives progress; lock: the same calls under one lock, "
                  "for several threads; offload: the library's thread drives progress");
  }
  measure.names("--forms", options.forms, {"blocking", "started"},
                "blocking: a send, then a receive; started: both started, then one wait for both");
  measure.numbers("--threads", options.threads, {1, 2, 4, 8}, 64, "of each rank, as 1,4");
  measure.bytes({0, 1, 16, 256, 1024, 4096, 8192, 32768}, "of a message, as 0,16,4K");
  measure.iterations(10'000, kTenth);
  measure.app()
      .add_option("--limit-s", options.limit_s, "a row that takes longer has fewer iterations")
      ->check(CLI::Range(1e-6, 3600.0))
      ->capture_default_str();
  return measure;
}

Measure initiation(CLI::App& app, Options& options) {
  Measure measure(app, options, "initiation", "how long a call that starts something takes");
  measure.names("--ways", options.ways, {"owner", "progress"},
                "owner: the caller drives progress; progress: the library's thread does");
  measure.names("--operations", options.operations, {"allreduce", "alltoall", "bcast", "send"},
                "beside a barrier, which moves nothing");
  measure.bytes({1, 64, 1024, 16384, 262144, 4194304}, "of a message or of each block");
  measure.iterations(1000, kTenth);
  return measure;
}

Measure wake(CLI::App& app, Options& options) {
  Measure measure(app, options, "wake",
                  "the library's thread at rest: its processor time, where it may run, and how "
                  "long it takes to wake");
  measure.iterations(100, "operations after a sleep, and without");
  measure.app()
      .add_option("--sleep-ms", options.sleep_ms, "before each operation")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  measure.app()
      .add_option("--idle-ms", options.idle_ms, "without any call, for the processor time")
      ->check(CLI::Range(10, 600'000))
      ->capture_default_str();
  return measure;
}

Measure bandwidth(CLI::App& app, Options& options) {
  Measure measure(app, options, "bandwidth",
                  "2P ranks: each of the first P sends windows of messages to one of the others, "
                  "which answers each window");
  measure.names("--ways", options.ways, {"direct", "offload"}, "who drives progress: see latency");
  measure.numbers("--windows", options.windows, {2, 4, 8, 16, 32, 64, 128}, 1024,
                  "messages under way at a time, as 4,64");
  measure.bytes({1, 16, 256, 4096, 65536, 1048576}, "of a message");
  measure.iterations(100, "windows, for messages up to 4 KiB; a tenth above, of 30 and more");
  return measure;
}

Measure overlap(CLI::App& app, Options& options) {
  Measure measure(app, options, "overlap",
                  "how much of a collective runs while the caller computes about as long: "
                  "r = (t_comm + t_work - T) / max(t_comm, t_work)");
  measure.names("--ways", options.ways, {"owner", "polled", "thread"},
                "owner: no call during the work; polled: esp_progress now and then; thread: the "
                "library's");
  measure.names("--operations", options.operations, {"alltoall", "allreduce", "bcast"},
                "what is started");
  measure.bytes({1024, 16384, 262144, 4194304}, "of a message or of each block");
  measure.iterations(200, kTenth);
  measure.app()
      .add_option("--poll-us", options.poll_us, "polled: work between two calls")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  measure.app()
      .add_option("--computing", options.computing,
                  "so many of the first ranks compute, whose times count, while the others wait; "
                  "0: all")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  return measure;
}

bool has(const std::vector<std::string>& list, const char* name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

void check_latency(const Options& options, Library library) {
  if (library == Library::kMpi && options.ways.size() != 1) {
    refuse("--ways: one in a launch, because MPI is initialised once");
  }
  const bool one =
      std::find(options.threads.begin(), options.threads.end(), 1) != options.threads.end();
  const bool locked = has(options.ways, "lock") && has(options.forms, "started");
  const bool alone = has(options.ways, "direct") || has(options.ways, "single");
  if (has(options.ways, "offload") || has(options.ways, "multiple") || locked || (alone && one)) {
    return;
  }
  refuse(
      "nothing to measure: `direct` and `single` are for one thread, `lock` for the form "
      "`started`, because "
      "a blocking call would keep the lock from who is to answer");
}

void check(const Options& options, Library library) {
  for (const std::size_t bytes : options.bytes) {
    const std::string text = "--bytes " + std::to_string(bytes);
    if (bytes > kLargest) refuse(text + ": at most 64 MiB");
    if (bytes == 0 && options.measure != "latency") refuse(text + ": of latency alone");
    for (const int window : options.windows) {
      if (bytes * static_cast<std::size_t>(window) > kWindowBytes) {
        refuse(text + " in windows of " + std::to_string(window) + ": more than 256 MiB");
      }
    }
  }
  if (options.measure == "latency") check_latency(options, library);
}

}  // namespace

Options parse_options(Library library, int argc, char** argv) {
  Options options;
  CLI::App app(
      "Calls of several threads, and the library's thread that drives progress: started by\n"
      "  esp-run -n 2 esp-threads MEASURE [options]",
      "esp-threads");
  app.require_subcommand(1);
  std::vector<Measure> measures = {latency(app, options, library)};
  if (library == Library::kEspalier) {
    for (const auto add : {initiation, wake, bandwidth, overlap}) {
      measures.push_back(add(app, options));
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    std::exit(app.exit(help));
  } catch (const CLI::RequiredError&) {
    const bool is_ours = library == Library::kEspalier;
    refuse(std::string("the first argument is latency") +
           (is_ours ? ", initiation, wake, bandwidth or overlap" : ": all there is for MPI"));
  } catch (const CLI::ParseError& error) {
    refuse(error.what());
  }
  for (const Measure& measure : measures) {
    if (measure.is_used()) measure.use();
  }
  check(options, library);
  return options;
}

}  // namespace espalier::bench
