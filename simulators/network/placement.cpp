// "scattered" spreads the nodes evenly and then deals the list into about sqrt(nodes) hands, so that
// consecutive nodes are a stride apart. "random" is a partial shuffle by splitmix, whose result is the same
// on every machine for a seed.
#include "simulators/network/placement.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "offramp/kernel/random.hpp"

namespace offramp {
namespace {

using Places = Result<std::vector<int>>;

bool read(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<int> scattered(int nodes, int machine) {
  std::vector<int> places;
  for (std::int64_t node = 0; node < nodes; ++node)
    places.push_back(static_cast<int>(node * machine / nodes));
  // Deals the list into about sqrt(nodes) hands, so that neighbours are a stride apart.
  int hands = 1;
  while (hands * hands < nodes) ++hands;
  std::vector<int> dealt;
  for (int hand = 0; hand < hands; ++hand) {
    for (int at = hand; at < nodes; at += hands) dealt.push_back(places[static_cast<std::size_t>(at)]);
  }
  return dealt;
}

std::vector<int> drawn(int nodes, int machine, std::uint64_t seed) {
  std::vector<int> all(static_cast<std::size_t>(machine));
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(nodes); ++i)
    std::swap(all[i], all[i + splitmix(seed) % (all.size() - i)]);
  all.resize(static_cast<std::size_t>(nodes));
  return all;
}

Places listed(std::string_view rest, int nodes, int machine) {
  std::vector<int> places;
  std::vector<bool> taken(static_cast<std::size_t>(machine));
  for (std::string_view more = rest;;) {
    const std::size_t end = more.find(',');
    std::uint64_t place = 0;
    if (!read(more.substr(0, end), place) || place >= static_cast<std::uint64_t>(machine))
      return failure(fmt::format("\"{}\" is not a node from 0 to {}",
                                 more.substr(0, std::min<std::size_t>(end, 40)), machine - 1));
    if (taken[place]) return failure(fmt::format("node {} occurs twice", place));
    taken[place] = true;
    places.push_back(static_cast<int>(place));
    if (end == std::string_view::npos) break;
    more.remove_prefix(end + 1);
  }
  if (places.size() < static_cast<std::size_t>(nodes))
    return failure(fmt::format("has {} nodes, but {} are needed", places.size(), nodes));
  places.resize(static_cast<std::size_t>(nodes));
  return places;
}

}  // namespace

Places place_nodes(const std::string& text, int nodes, int machine) {
  const std::string_view all = text;
  std::uint64_t seed = 0;
  if (all == "order") {
    std::vector<int> places(static_cast<std::size_t>(nodes));
    std::iota(places.begin(), places.end(), 0);
    return places;
  }
  if (all == "scattered") return scattered(nodes, machine);
  if (all == "random" || (all.starts_with("random:") && read(all.substr(7), seed)))
    return drawn(nodes, machine, seed);
  if (all.starts_with("list:")) return listed(all.substr(5), nodes, machine);
  return failure("is not one of order, scattered, random, random:SEED, list:A,B,...");
}

}  // namespace offramp
