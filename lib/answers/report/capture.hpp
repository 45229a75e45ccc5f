// Packet captures: what a rank's modelled hardware sends, as a pcap file that Wireshark and tshark open.
//
// The time stamps are modelled time, in nanoseconds from the beginning of the run. Every rank has a file of
// its own with what it sends; merged (mergecap), they are the whole network, each packet once. Rank r has the
// address 10.10.10.1 + r and the MAC address 02:00:00:00 + r.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/output_file.hpp"
#include "offramp/kernel/packet.hpp"

namespace offramp {

/// One rank's packets. Memory is bounded: what comes after kMostBytes of frames is counted only. Not thread
/// safe.
class CaptureRecorder final : public PacketSink {
 public:
  static constexpr std::uint64_t kMostBytes = 256 << 20;

  void record(const Packet& packet) override;
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] bool empty() const { return packets_.empty(); }

  /// The file: frames in the order of time.
  [[nodiscard]] std::string pcap() const;

 private:
  struct Kept {
    Packet packet;     // without its bytes
    std::size_t from;  // which are here
    std::size_t size;
  };
  static constexpr std::uint64_t kHeaders = 100;  // of a frame and its record, at most

  std::vector<Kept> packets_;
  std::vector<std::byte> bytes_;
  std::uint64_t size_ = 0;
  std::uint64_t dropped_ = 0;
};

/// The path of one of several files: its part before the last extension. run.json, host -> run.host.json
std::string path_of_part(const std::string& path, std::string_view part);
/// The naming of such a file. A stream has one name, which the user typed.
Naming naming_of_part(const std::string& path);
/// The path of one rank's file: run.pcap -> run.3.pcap
std::string capture_path(const std::string& path, int rank);

}  // namespace offramp
