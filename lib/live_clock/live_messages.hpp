// The live clock's view of messages: the stages of a backend, asked rank by rank in the order in which its
// program issues operations.
//
// Each end knows its own resources only. The sender takes the receiver to be ready; when it was not, its
// reply shifts the message. What a rank's own resources serve adds up, so that they never go faster than
// their rates; what other ranks do to shared ones is left to a world. The answers come at moments that the
// program's own order fixes, so they are reproducible:
//
//   sender, when the program issues the send   depart()         -> a stamp that travels with the message
//   receiver, when a receive is matched        match()          -> a reply (after a handshake departure)
//   receiver, when completion is observed      receive()        -> the receiver's time
//   sender, when completion is observed        complete_send()  -> the sender's time (after a handshake)
#pragma once

#include <cstddef>
#include <span>

#include "offramp/model/backend.hpp"
#include "simulators/model/units.hpp"

namespace offramp {

struct Departure {
  Time host_free;          // when a nonblocking call returns to the program
  Time complete;           // when the send is complete at the sender (no handshake)
  bool handshake = false;  // completion needs the receiver: match() there, complete_send() here
  Stamp stamp;
};

class LiveMessages {
 public:
  /// The backend outlives this.
  explicit LiveMessages(Backend& backend);

  /// How many units depart() and the others use.
  [[nodiscard]] std::size_t units() const { return late_ + 1; }

  Departure depart(const Transfer& transfer, Time issued, Units& units);
  /// posted: the host clock at which the receive was issued. Only after a handshake departure.
  Stamp match(const Transfer& transfer, const Stamp& departure, Time posted);
  /// now: the host clock at which the program learns of the message.
  Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Time now, Units& units);
  Time complete_send(const Stamp& departure, const Stamp& reply, Units& units);

 private:
  Departure depart_local(const Transfer& transfer, Passage& passage) const;
  /// The message as its sender saw it, from the moment at which the request arrived.
  void resume(const Transfer& transfer, const Stamp& departure, Time posted, Passage& passage);

  Backend& backend_;
  std::span<const ResourceDescription> resources_;
  std::size_t late_;  // the unit of data whose receivers were late
  std::size_t sender_hold_;
  std::size_t receiver_hold_;
  Units idle_;
};

}  // namespace offramp
