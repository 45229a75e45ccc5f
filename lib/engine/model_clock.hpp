// The modelled clock of a rank while its program runs. A run has one only where something asks for it
// (needs_live_clock()); otherwise an engine moves data, and modelled time is computed when the run is
// settled.
#pragma once

#include <cstdint>
#include <memory>

#include "offramp/model/backend.hpp"

namespace offramp {

class ModelClock {
 public:
  virtual ~ModelClock() = default;

  /// The rank's position in modelled time, as its program sees it.
  Time now;
  void reach(Time time) { now = later(now, time); }

  /// Who carries an operation, and where it stands in modelled time: at `now` with the rank's own hardware,
  /// or where the algorithm of a collective is.
  struct Position {
    std::uint8_t backend = 0;
    Time* time = nullptr;
    TeamHardware* hardware = nullptr;  // of a Fork; null: the rank's own
  };
  [[nodiscard]] Position own_position(std::uint8_t backend) { return {backend, &now, nullptr}; }

  /// The next message's Transfer::number; tokens are counted too.
  virtual std::uint32_t next_number(std::uint8_t backend, int destination) = 0;

  struct Sent {
    Stamp stamp;         // goes along with the message
    Time complete;       // when the send is complete; meaningless if it waits
    bool waits = false;  // it is complete only once match() has answered
  };
  virtual Sent send(const Transfer& transfer, const Position& at) = 0;
  /// Posting a receive. Returns when it is posted.
  virtual Time post(const Position& at) = 0;
  /// At the receiver of a message that waits, when it is matched. The answer goes back to the sender.
  virtual Stamp match(std::uint8_t backend, const Transfer& transfer, const Stamp& departure,
                      Time posted) = 0;
  /// Completions, when the program or the algorithm learns of them.
  virtual void received(const Transfer& transfer, const Stamp& departure, Time posted,
                        const Position& at) = 0;
  virtual void sent(const Stamp& departure, const Stamp& answer, const Position& at) = 0;

  /// The hardware of one collective: the rank's as it was when the collective was issued, so that operations
  /// in flight never depend on each other's progress.
  class Fork : public TeamHardware {
   public:
    virtual ~Fork() = default;
    /// The program learns that the collective is done. Returns by how much it is later than it found out by
    /// itself: other operations have used the same hardware meanwhile.
    virtual Time join() = 0;
  };
  virtual std::unique_ptr<Fork> fork(std::uint8_t backend) = 0;
};

}  // namespace offramp
