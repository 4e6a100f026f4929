// Espalier for C++20: the C API of espalier.h with types.
//
//   auto job = esp::Job::init().value();
//   std::vector<double> x(1000, job.rank());
//   if (esp::Status s = job.world().allreduce_in_place(x, esp::kSum); !s) complain(s.text());
//
// Header-only, nothing of the library's own namespace `espalier` in it. Nothing is thrown, but what
// a continuation or a task of the caller's has thrown (future.hpp). Buffers are contiguous ranges
// (vector, array, span, C array; esp::one(x) for a single value) whose element type gives the type
// of the call; lengths count elements.
//
// Two kinds of answers: Status (two words, no allocation) from everything that moves data, and
// Result<T> (a T or an Error that owns its text) from everything that makes an object. Both are
// [[nodiscard]].
//
// Ownership: Job, Team, Graph, Request, PersistentRequest, Future, Delivery, UserOp, Pattern and
// Memory own what they name and are move-only; TeamRef is a borrowed team and is copied freely.
// Destroy in the reverse order of creation: a Job last. Threads: as in espalier.h. path: short
// where the C call is
#ifndef ESPALIER_ESPALIER_HPP
#define ESPALIER_ESPALIER_HPP

// Nothing of the layer is read by an older compiler: one error instead of pages of them.
#if __cplusplus < 202002L
#error "espalier.hpp needs C++20: compile with -std=c++20 (g++ 12 and clang 16 are tested)"
#else

#include "espalier/cpp/blocks.hpp"
#include "espalier/cpp/collectives.hpp"
#include "espalier/cpp/coroutine.hpp"
#include "espalier/cpp/decomposable.hpp"
#include "espalier/cpp/exchanges.hpp"
#include "espalier/cpp/future.hpp"
#include "espalier/cpp/gathers.hpp"
#include "espalier/cpp/graph.hpp"
#include "espalier/cpp/job.hpp"
#include "espalier/cpp/message.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/op.hpp"
#include "espalier/cpp/options.hpp"
#include "espalier/cpp/partial.hpp"
#include "espalier/cpp/pattern.hpp"
#include "espalier/cpp/persistent.hpp"
#include "espalier/cpp/persistent_request.hpp"
#include "espalier/cpp/region.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/rooted.hpp"
#include "espalier/cpp/sender.hpp"
#include "espalier/cpp/stream.hpp"
#include "espalier/cpp/team.hpp"
#include "espalier/cpp/type.hpp"
#include "espalier/cpp/work.hpp"

#endif  // __cplusplus
#endif  // ESPALIER_ESPALIER_HPP
