// Helpers of the tinsel tests: bytes as hexadecimal text, and software that records deliveries.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "simulators/tinsel/placement.hpp"

namespace offramp::tinsel {

/// Digits; blanks and bars are skipped.
inline std::vector<std::byte> unhex(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != ' ' && c != '|') digits += c;
  }
  std::vector<std::byte> out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    out.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return out;
}

/// One receipt: board, mailbox, thread, and the message's words.
struct Receipt {
  ThreadLocation at;
  Payload words;
  Time when;
  int flits = 0;
};

/// Receives everything, and frees it later.
class Recorder final : public Software {
 public:
  explicit Recorder(Machine& machine) : machine_(machine) { machine.run_on(this); }
  void delivered(const Delivery& delivery) override {
    const MailboxMessage& m = delivery.message;
    for (int thread = 0; thread < kThreadsPerMailbox; ++thread) {
      if ((m.to.mask >> thread & 1U) == 0) continue;
      const Time when = delivery.pointer[static_cast<std::size_t>(thread)];
      ThreadLocation at{m.to.board, m.to.mailbox, static_cast<std::uint8_t>(thread)};
      receipts.push_back({at, m.words, when, m.flits});
      last = later(last, when);
      machine_.free(when + hold, delivery.slot);
    }
  }

  std::vector<Receipt> receipts;
  /// The arrival of the last pointer.
  Time last;
  /// Time until a thread frees its message.
  Time hold = Time::ns(100);

 private:
  Machine& machine_;
};

/// By default one box of boards.
inline MachineSpec small_machine(int columns = 3, int rows = 2) {
  MachineSpec spec;
  spec.mesh = {columns, rows};
  return spec;
}

/// A thread by the positions of its board and mailbox.
inline ThreadLocation at(const Mesh& mesh, int board_x, int board_y, int mailbox_x = 0, int mailbox_y = 0,
                         int thread = 0) {
  return {static_cast<std::uint16_t>(mesh.at(board_x, board_y)),
          static_cast<std::uint8_t>(mailbox_y * kMailboxColumns + mailbox_x),
          static_cast<std::uint8_t>(thread)};
}

/// A message to the destinations of a key of the sender's board.
inline MailboxMessage keyed(const Key& key, int flits = 1, const Payload& words = {}) {
  MailboxMessage message;
  message.to = Address::with_key(key.encode());
  message.flits = static_cast<std::uint8_t>(flits);
  message.words = words;
  return message;
}

}  // namespace offramp::tinsel
