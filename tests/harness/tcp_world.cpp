#include "tests/harness/tcp_world.hpp"

#include <poll.h>

#include <cstdio>
#include <vector>

#include "tests/harness/stingy_link.hpp"

namespace espalier::test {

TcpWorld::TcpWorld(int ranks, const net::TcpOptions& options, double refuse) {
  for (Rank r = 0; r < ranks; ++r) {
    net::TcpOptions mine = options;
    mine.rank = r;
    mine.job_size = ranks;
    auto counters = std::make_unique<Counters>();
    auto made = net::TcpLink::create(mine, clock_, *counters, Log(LogLevel::kError, r));
    if (!made) std::fprintf(stderr, "%s\n", made.error().text.c_str());
    ESP_ASSERT(made.ok());
    tcp_.push_back(made->get());
    std::unique_ptr<net::Link> link = std::move(*made);
    if (refuse > 0) {
      link =
          std::make_unique<StingyLink>(std::move(link), refuse, static_cast<std::uint64_t>(r + 1));
    }
    add(std::move(counters), std::move(link));
  }
  for (Rank r = 0; r < ranks; ++r) {
    for (Rank other = 0; other < ranks; ++other) {
      if (other == r) continue;
      auto contact = net::parse_contact(net::contact_bytes(tcp(other).contact()), other);
      ESP_ASSERT(contact.ok());
      tcp(r).set_contact(other, std::move(*contact));
    }
  }
}

void TcpWorld::rest() noexcept {
  std::vector<pollfd> links;
  bool under_way = false;
  for (Rank r = 0; r < size(); ++r) {
    if (!is_open(r)) continue;
    under_way = under_way || !link(r).drained();
    links.push_back({link(r).descriptor(), POLLIN, 0});
  }
  if (under_way) (void)::poll(links.data(), links.size(), 2);
}

}  // namespace espalier::test
