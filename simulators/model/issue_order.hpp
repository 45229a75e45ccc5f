// Messages of backends that have not moved to stages: they answer the four questions of the live clock
// (simulators/model/live_messages.hpp) themselves, on resources that no other rank shares.
#pragma once

#include <cstdlib>

#include "offramp/model/backend.hpp"
#include "simulators/model/units.hpp"

namespace offramp {

struct Departure {
  Time host_free;          // when a nonblocking call returns to the program
  Time complete;           // when the send is complete at the sender (no handshake)
  bool handshake = false;  // completion needs the receiver: match() there, complete_send() here
  Stamp stamp;
};

class IssueOrderMessages {
 public:
  virtual Departure depart(const Transfer& transfer, Time issued, Units& units) = 0;
  /// posted: the host clock at which the receive was issued. Only after a handshake departure.
  virtual Stamp match(const Transfer& transfer, const Stamp& departure, Time posted) = 0;
  virtual Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Units& units) = 0;
  virtual Time complete_send(const Transfer& transfer, const Stamp& reply, Units& units) = 0;
  /// How many units the hardware has.
  [[nodiscard]] virtual std::size_t units() const = 0;

 protected:
  ~IssueOrderMessages() = default;
};

/// A backend of that kind. Such a backend serves one rank. Its stages are never called.
class IssueOrderBackend : public Backend, public IssueOrderMessages {
 public:
  using IssueOrderMessages::depart;
  using IssueOrderMessages::receive;
  IssueOrderMessages* issue_order() final { return this; }
  [[nodiscard]] std::span<const ResourceDescription> resources() const final { return {}; }
  void issue(const Transfer&, Passage&) final { std::abort(); }
  void depart(const Transfer&, Passage&, const Resources&) final { std::abort(); }
  void arrive(const Transfer&, Passage&, const Resources&) final { std::abort(); }
  Time receive(const Transfer&, const Passage&, Time, bool) final { std::abort(); }
  [[nodiscard]] Time copy_time(std::size_t) const final { std::abort(); }
};

}  // namespace offramp
