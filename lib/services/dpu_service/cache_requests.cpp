// An engine's answers to cache requests, and the addresses of the service processes.

#include "lib/services/dpu_service/cache_service.hpp"
#include "lib/services/dpu_service/engine.hpp"

namespace offramp::dpu {
namespace {

constexpr std::size_t kMostRequests = 65'536;
constexpr std::size_t kMostAddress = 15;  // of an IPv4 address in digits

}  // namespace

/// Type 40: sends the known entries of a group.
void ServiceEngine::on_cache_request(Context& context, offload_ep& peer, std::span<const std::byte> data) {
  Reader reader(data);
  const auto uid = reader.get<std::uint32_t>();
  const GroupDescription* const group = cache_.description(uid);
  if (!reader.finished() || group == nullptr) return;
  Writer entries;
  std::uint32_t known = 0;
  for (int rank = 0; rank < static_cast<int>(group->world_ranks.size()); ++rank) {
    const CacheEntry* const entry = cache_.entry(uid, rank);
    if (entry == nullptr || entry->process < 0) continue;
    put_entry(entries, rank, *entry);
    ++known;
  }
  Writer writer;
  put_group(writer, *group);
  context.notify(&peer, kCacheEntries,
                 writer.put(known).put(std::span<const std::byte>(entries.release())).release());
}

/// Type 42: sends one entry, now or as soon as it is known.
void ServiceEngine::on_entry_request(Context& context, offload_ep& peer, std::span<const std::byte> data) {
  Reader reader(data);
  const auto uid = reader.get<std::uint32_t>();
  const auto rank = reader.get<std::int32_t>();
  if (!reader.finished() || rank < 0 || requests_.size() >= kMostRequests) return;
  requests_.push_back({&context, &peer, uid, rank});
  answer_requests(uid);
}

void ServiceEngine::answer_requests(GroupUid uid) {
  std::erase_if(requests_, [&](const EntryRequest& request) {
    if (request.peer->link == nullptr) return true;
    if (request.uid != uid) return false;
    const CacheEntry* const entry = cache_.entry(uid, request.rank);
    if (entry == nullptr || entry->process < 0) return false;
    request.context->notify(request.peer, kCacheEntries,
                            one_entry(*cache_.description(uid), request.rank, *entry));
    return true;
  });
}

/// Type 46: the addresses of all service processes, for ranks.
Bytes ServiceEngine::process_data() const {
  Writer writer;
  writer.put(static_cast<std::uint32_t>(agreed_.per_dpu)).put(static_cast<std::uint32_t>(places_.size()));
  for (const ProcessPlace& place : places_) {
    writer.put(static_cast<std::int32_t>(place.host)).put(place.port);
    writer.put(static_cast<std::uint8_t>(place.address.size()));
    writer.put(std::as_bytes(std::span(place.address)));
  }
  return writer.release();
}

void ServiceEngine::on_process_data(std::span<const std::byte> data) {
  Reader reader(data);
  const auto per_dpu = reader.get<std::uint32_t>();
  const auto count = reader.get<std::uint32_t>();
  if (on_dpu || per_dpu == 0 || count > kMostPeers) return;
  std::vector<ProcessPlace> places;
  for (std::uint32_t i = 0; i < count; ++i) {
    ProcessPlace place;
    place.host = reader.get<std::int32_t>();
    place.port = reader.get<std::uint16_t>();
    const auto address = reader.get(reader.get<std::uint8_t>());
    if (!reader.is_valid() || place.host < 0 || address.size() > kMostAddress) return;
    for (const std::byte byte : address) place.address += static_cast<char>(byte);
    places.push_back(std::move(place));
  }
  if (reader.finished()) places_ = std::move(places);
}

/// A rank's connection to another service process than its own, made on demand.
dpu_offload_status_t ServiceEngine::reach(std::uint64_t process, Context*& context) {
  const auto found = reached_.find(process);
  if (found != reached_.end()) {
    context = found->second;
    if (context->as_client.bs_phase == BOOTSTRAP_DONE) return DO_SUCCESS;
    return context->as_client.bs_phase == DISCONNECTED ? context->as_client.status : DO_NOT_APPLICABLE;
  }
  if (process >= places_.size())
    return places_.empty() ? DO_NOT_APPLICABLE : fail("unknown service process " + std::to_string(process));
  const ProcessPlace& place = places_[static_cast<std::size_t>(process)];
  if (place.port == 0)
    return fail("the address of service process " + std::to_string(process) + " is not known");
  conn_params_t where{place.address.c_str(), nullptr, place.port};
  init_params_t params{};
  params.conn_params = &where;
  context = connect(params);
  if (context == nullptr) return DO_ERROR;
  reached_[process] = context;
  return DO_NOT_APPLICABLE;
}

}  // namespace offramp::dpu
