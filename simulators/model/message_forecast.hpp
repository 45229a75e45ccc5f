// The forecast of one message, for backends that simulate all their hardware at once: it has the network to
// itself, so the two ranks' own backends say what it takes, as they do in a run.
#pragma once

#include <memory>

#include "simulators/model/live_messages.hpp"

namespace offramp {

/// From the operation's root to the next rank, whose receive is posted at time 0.
inline Transfer message_of(const Operation& operation) {
  Transfer transfer;
  transfer.source = operation.root;
  transfer.destination = (operation.root + 1) % operation.ranks;
  transfer.bytes = operation.bytes;
  transfer.element = operation.element;
  transfer.tag = operation.tag;
  return transfer;
}

/// The questions are the live clock's, in its order.
inline Forecast forecast_message(const BackendDescription& description, const Operation& operation,
                                 const BackendContext& context) {
  const Transfer transfer = message_of(operation);
  const auto backend_of = [&](int rank) {
    return description.create({rank, operation.ranks, context.settings, context.faults});
  };
  const std::unique_ptr<Backend> sender = backend_of(transfer.source);
  const std::unique_ptr<Backend> receiver = backend_of(transfer.destination);
  LiveMessages sends(*sender);
  LiveMessages receives(*receiver);
  Units sending(sends.units());
  Units receiving(receives.units());
  const Departure departure = sends.depart(transfer, {}, sending);
  const Time posted = receiver->post_receive_cost();
  Time sent = departure.complete;
  bool failed = departure.stamp.failed();
  if (departure.handshake) {
    const Stamp reply = receives.match(transfer, departure.stamp, posted);
    failed = failed || reply.failed();
    sent = reply.failed() ? reply.last : sends.complete_send(transfer, departure.stamp, reply, sending);
  }
  Forecast forecast;
  if (failed) forecast.declined = sender->failure(departure.stamp);
  forecast.time = later(later(posted, departure.host_free), sent);
  forecast.time =
      later(forecast.time, receives.receive(transfer, departure.stamp, posted, posted, receiving));
  forecast.engine = forecast.time;
  forecast.wire = sender->wire();
  forecast.wire += receiver->wire();
  return forecast;
}

}  // namespace offramp
