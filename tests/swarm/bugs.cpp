#include "tests/swarm/bugs.hpp"

namespace espalier::swarm {
namespace {

constexpr StageKind kShm = StageKind::kShm, kDatagrams = StageKind::kDatagrams,
                    kConnections = StageKind::kConnections, kRdma = StageKind::kRdma;

constexpr bool kExchanges = true;
constexpr StageKind kAny = StageKind::kSim;

constexpr Bug kBugs[] = {
    {1, "off by one", "a vertex may have one index more in flight than its window"},
    {2, "missing dependency", "edges to far earlier indices are not looked at"},
    {3, "wrong number", "a send counts its segments through all peers, not for each"},
    {4, "lost retry", "of several refused vertices of an operation one is tried again"},
    {5, "double completion", "an operation that is taken back ends twice"},
    {6, "wrong resource", "a combine gives back the view of the next segment"},
    {7, "too much permission", "a receiver grants one segment more than it has posted"},
    {8, "skipped check", "segments of another call are taken if their size is right"},
    {9, "wrong order", "the first two operands of a combine are swapped"},
    {10, "stale list entry", "an ended operation stays in the list of those to try again"},
    {11, "forgotten operation", "the first slot of each vertex is not taken back"},
    {12, "number used again", "operations four apart have the same number"},
    {13, "lost wake-up", "who waits for its first grant is not told of it"},
    {14, "stale cache", "a plan for commutative operators serves the others, too"},
    {15, "early completion", "a publication is complete when its first reader has read it"},
    {16, "unchecked reader", "only the first reader of a publication is asked for permission"},
    {17, "ignored report", "a result counts although its source had given up before"},
    {18, "overlooked death", "the watchdog does not look at the last member of a team"},
    {19, "swallowed error", "a mismatch counts only in the first segment of a flow"},
    {20, "early disposal", "permissions are thrown away one segment too soon"},
    {21, "use after free", "a plan goes while an operation runs on it"},
    {22, "early acknowledgement", "shared memory is given back while a view of it is held", kShm},
    {23, "stale field", "a kept segment remembers where the one before it was moved to", kShm},
    {24, "lost index", "the list of peers to look at forgets where a moved entry is", kShm},
    {25, "half a withdrawal", "a send that is taken back still completes for some readers", kShm},
    {26, "deadlock by memory", "nobody is asked to clear a full arena", kShm},
    {27, "nobody is waited for", "a barrier's messages wait for nothing"},
    {28, "half a way back", "a pull that is refused when it has begun fails", kShm},
    {29, "forgotten for want of room", "a refused segment for which the arena is full is not sent",
     kShm},
    {30, "missing dependency", "edges to all indices of a vertex are not looked at", kAny,
     kExchanges},
    {31, "one side alone", "segments that nobody expects are sent, because they are empty", kAny,
     kExchanges},
    {32, "wrong direction", "a walk down counts the segments of the blocks above", kAny,
     kExchanges},
    {33, "early release", "the first combine of a kept view gives it back", kAny, kExchanges},
    {34, "wrong offset", "packed blocks begin where they would if the first rank's came first",
     kAny, kExchanges},
    {35, "missing dependency", "in place, a block is replaced before it has been staged", kAny,
     kExchanges},
    {36, "skipped check", "segments more or less than expected go unnoticed", kAny, kExchanges},
    {37, "starvation", "the last segment of a short block waits for company to be granted", kAny,
     kExchanges},
    {38, "starvation", "in place, receives wait for sends that wait for their grant", kAny,
     kExchanges},
    {40, "unchecked bytes", "packets are taken whatever their checksum", kDatagrams},
    {41, "unchecked origin", "packets of an earlier job are taken", kDatagrams},
    {42, "no restraint", "a time-out is as long as the one before", kDatagrams},
    {43, "ignored limit", "packets are sent without the receiver's permission", kDatagrams},
    {44, "forgotten timer", "nobody waits for an acknowledgement", kDatagrams},
    {45, "wrong bit", "a selective acknowledgement counts for the packet before", kDatagrams},
    {46, "missing duplicate check", "a packet that waits for its turn is kept twice", kDatagrams},
    {47, "premature report", "the missing packet before a gap is acknowledged", kDatagrams},
    {48, "borrowed memory", "the link reads a payload that was taken back", kDatagrams},
    {49, "use after return", "a packet that waits for its turn is given back", kDatagrams},
    {61, "starvation", "credits travel only on other messages", kConnections},
    {62, "symmetry", "two ranks that ask at once both answer", kConnections},
    {63, "unchecked attempt", "letters of earlier attempts are taken", kConnections},
    {64, "silent queue", "only operations that somebody waits for ask for a completion",
     kConnections},
    {65, "stale table", "the place of a frame that came otherwise is not retired", kConnections},
    {66, "lost completions", "a connection is closed before what it had is handed over",
     kConnections},
    {67, "off by one", "after a break the first message that had not arrived counts as arrived",
     kConnections},
    {68, "stale offers", "places announced on a connection that broke are used on the next",
     kConnections},
    {69, "taken twice", "what an adapter repeats is taken for new", kConnections},
    {70, "stale context", "headers that the peer knew on a connection that broke are left out",
     kConnections},
    {71, "overtaking", "a new connection does not wait for what is under way as datagrams", kRdma},
    {72, "stale table", "a frame that came as datagrams keeps its place for the connection's",
     kRdma},
    {73, "half a death", "a peer that is lost by one path lives for the other", kRdma},
    {74, "ignored limit", "connections are asked for beyond the number allowed", kRdma},
    {76, "read twice", "a frame that was read before a break is read again after it", kConnections},
    {77, "one inside another", "a frame that has been read is delivered inside another",
     kConnections},
    {78, "half a put", "after a break a put goes on behind what had been asked for", kConnections},
    {79, "early report", "a get ends with its first part", kConnections},
    {75, "one peer's packets", "packets for arrivals are provided for the last connection alone",
     kConnections},
};

}  // namespace

std::span<const Bug> planted_bugs() noexcept {
  return kBugs;
}

}  // namespace espalier::swarm
