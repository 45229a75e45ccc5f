// Broadcasts in progress: one stream of keyed sends whose copies reach many ranks. The world sees each copy
// as a message from the root to one destination. The first copy to depart charges the shared units for the
// whole stream.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "backends/tinsel/device.hpp"
#include "backends/tinsel/shared_units.hpp"

namespace offramp::tinsel {

/// Both arguments must outlive this object.
class Multicasts {
 public:
  Multicasts(Device& device, const SharedUnits& shared) : device_(device), shared_(shared) {}

  /// Until close(), the messages issued by the rank are copies of one stream, in the order of the plan's
  /// destinations. both_ends: this object also sees their arrival.
  void open(std::shared_ptr<RootPlan> plan, std::uint64_t bytes, bool both_ends);
  void close() { open_ = nullptr; }

  /// Called when a message is issued. Returns true if it is a copy.
  bool issued(const Transfer& transfer);
  /// Called when a message departs at passage.begin. Returns true if it is a copy; the stage is then
  /// complete.
  bool depart(const Transfer& transfer, Passage& passage, const Resources& sender);
  /// Called when a message arrives. Returns true if it is a copy known to this object.
  bool arrived(const Transfer& transfer) { return !copies_.empty() && copies_.erase(name_of(transfer)) > 0; }

 private:
  /// A broadcast. It lives until its last copy has departed, or has arrived.
  struct Stream {
    std::shared_ptr<RootPlan> plan;
    std::uint64_t bytes = 0;
    bool both_ends = false;
    std::size_t issued = 0;
    std::shared_ptr<const StreamResult> alone;  // nullptr until a copy has departed
    std::vector<SharedUnits::Delay> delays;     // by hop
    SharedUnits::Delay worst;
    Time held;  // delay of the root's completion
  };
  /// One message of the world.
  struct Copy {
    std::shared_ptr<Stream> stream;
    std::size_t index = 0;
  };

  /// Unique among messages in flight.
  [[nodiscard]] std::uint64_t name_of(const Transfer& transfer) const {
    const auto ranks = static_cast<std::uint64_t>(device_.configuration().ranks);
    const auto pair = static_cast<std::uint64_t>(transfer.source) * ranks +
                      static_cast<std::uint64_t>(transfer.destination);
    return pair << 32U | transfer.number;
  }
  /// Simulates the stream and charges it, at the departure of its first copy.
  void begin(Stream& stream, const Transfer& transfer, Time at, const Resources& sender);
  /// These add delays by other traffic.
  void charge_sender(Stream& stream, const Load& load, Time at, const Resources& sender);
  void charge_tree(Stream& stream, const Load& load, Time at, const Resources& sender);
  /// Software multicasts have no tree.
  void charge_copies(Stream& stream, const Load& load, Time at, const Resources& sender);

  Device& device_;
  const SharedUnits& shared_;
  std::shared_ptr<Stream> open_;
  std::unordered_map<std::uint64_t, Copy> copies_;
};

}  // namespace offramp::tinsel
