// The cases of api_tests, one function each; all are called by every rank of the job.
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "tests/support/blocks.hpp"
#include "tests/support/counter.hpp"
#include "tests/support/rank_check.hpp"

// The call is refused with this status, and the text has these words.
#define REFUSED_WITH(call, status, words)                                            \
  do {                                                                               \
    CHECK_STATUS(call, status, context.world, "must be refused");                    \
    const bool says_so = std::strstr(esp_job_error(context.job), words) != nullptr;  \
    CHECK(says_so, "\"{}\" does not say \"{}\"", esp_job_error(context.job), words); \
  } while (false)

namespace test {

void bcast(const Context& context);             // every type and root, many counts
void types(const Context& context);             // every operator on every type it is defined for
void sizes(const Context& context);             // up to tens of MiB
void huge(const Context& context);              // above 2 GiB
void options(const Context& context);           // algorithms, shapes, segments, windows, variants
void operators(const Context& context);         // the user's, and floats bit for bit
void nonblocking(const Context& context);       // requests, callbacks, counters, many at once
void persistent(const Context& context);        // rounds of requests that stay
void teams(const Context& context);             // dup, split, include, again and again
void team_create(const Context& context);       // teams made by their members alone
void idle(const Context& context);              // what a waiter drives besides
void flows(const Context& context);             // send and receive
void regions(const Context& context);           // put, get, atomics
void messages(const Context& context);          // active messages
void tags(const Context& context);              // messages matched by tag
void events(const Context& context);            // a descriptor to sleep on
void completions(const Context& context);       // callbacks and barriers, whatever is started
void allgather(const Context& context);         // and allgatherv: each algorithm, form and layout
void alltoall(const Context& context);          // and alltoallv
void scan(const Context& context);              // and exscan
void gathers(const Context& context);           // these, several at once, on teams and in callbacks
void arguments(const Context& context);         // each wrong argument has its status
void gather_arguments(const Context& context);  // likewise, of gathers
void mismatch(const Context& context);          // ranks that disagree
void rooted(const Context& context);            // gather(v) and scatter(v): each root, form, layout
void reduce_scatter(const Context& context);    // and its blocks of one length
void alltoallw(const Context& context);         // blocks with types of their own
void layouts(const Context& context);      // types whose elements lie apart, in every collective
void made_types(const Context& context);   // these types: refused, in use, freed
void graphs(const Context& context);       // of neighbours: made, refused, freed
void neighbors(const Context& context);    // their exchanges, on grids and at random
void crowd(const Context& context);        // gathers and the like among others
void crowd_teams(const Context& context);  // 64 of every kind at once, on eight teams
void rooted_arguments(const Context& context);  // wrong arguments of these
void rooted_mismatch(const Context& context);   // ranks that disagree in these
void unsent_rooted(const Context& context);     // a gather to which one sends nothing
void unsent(const Context& context);            // one sends nothing of what another expects
void unsent_by_leaver(const Context& context);  // and goes to finalize
void cpp(const Context& context);               // the C++ layer
void cpp_gathers(const Context& context);       // likewise, of gathers
void cpp_rooted(const Context& context);        // of gathers to a root, reduce-scatters, patterns
void cpp_graph(const Context& context);         // of graphs
void cpp_persistent(const Context& context);    // likewise, of requests that stay
void partial(const Context& context);           // segments are handed out as they land
void partial_layouts(const Context& context);   // of what does not lie in one run
void partial_ready(const Context& context);     // inputs become ready bit by bit
void partial_unready(const Context& context);   // and never all of them
void partial_chain(const Context& context);     // one operation opens another's input
void cpp_futures(const Context& context);       // futures, coroutines, senders
void cpp_partial(const Context& context);       // segments as they land
void reproducible(const Context& context);      // sums that are the same bits in any job
void reproducible_setting(const Context& context);  // likewise, of ordinary ones

}  // namespace test
