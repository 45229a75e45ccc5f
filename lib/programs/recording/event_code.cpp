// An event is encoded by its differences from the last event of its kind: a bit mask of the fields that
// differ (kFields), then the differences. Lists are encoded as differences too; equal ones in a row form a
// group.
#include "lib/programs/recording/event_code.hpp"

#include "lib/programs/recording/format.hpp"

namespace offramp::recording {
namespace {

// How a field is stored in memory. Only tags and ranks are signed.
enum class Width : std::uint8_t { kByte, kHalf, kWord, kSigned, kLong };

// A field of Event that is encoded by its difference.
struct Field {
  std::size_t offset;
  Width width;
  std::uint64_t most;  // for unsigned fields
};

constexpr std::uint64_t number(auto last) {
  return static_cast<std::uint64_t>(last);
}

/// In the order of the bits of the mask. Fields that differ most often come first.
constexpr std::array kFields = {
    Field{offsetof(Event, peer), Width::kSigned, 0},
    Field{offsetof(Event, bytes), Width::kLong, UINT64_MAX},
    Field{offsetof(Event, tag), Width::kSigned, 0},
    Field{offsetof(Event, extra), Width::kLong, UINT64_MAX},
    Field{offsetof(Event, list), Width::kWord, UINT32_MAX},
    Field{offsetof(Event, call), Width::kHalf, UINT16_MAX},
    Field{offsetof(Event, flags), Width::kByte, UINT8_MAX},
    Field{offsetof(Event, communicator), Width::kWord, UINT32_MAX},
    Field{offsetof(Event, element), Width::kByte, number(ElementType::kMixed)},
    Field{offsetof(Event, second_list), Width::kWord, UINT32_MAX},
    Field{offsetof(Event, operation), Width::kByte, number(OperationKind::kCount) - 1},
    Field{offsetof(Event, function), Width::kByte, number(ReduceFunction::kUser)},
    Field{offsetof(Event, site), Width::kWord, UINT16_MAX},
};

// Reads a field as 64 bits, with its sign. Copying is valid for any alignment.
template <typename Word>
std::uint64_t load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return static_cast<std::uint64_t>(std::int64_t{word});
}
template <>
std::uint64_t load<std::uint64_t>(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}
template <typename Word>
void store(char* at, std::uint64_t value) {
  const auto word = static_cast<Word>(value);
  std::memcpy(at, &word, sizeof word);
}

std::uint64_t value_of(const Event& event, const Field& field) {
  const char* at = reinterpret_cast<const char*>(&event) + field.offset;
  switch (field.width) {
    case Width::kByte:
      return load<std::uint8_t>(at);
    case Width::kHalf:
      return load<std::uint16_t>(at);
    case Width::kWord:
      return load<std::uint32_t>(at);
    case Width::kSigned:
      return load<std::int32_t>(at);
    case Width::kLong:
      break;
  }
  return load<std::uint64_t>(at);
}

// value: must be in range.
void set(Event& event, const Field& field, std::uint64_t value) {
  char* at = reinterpret_cast<char*>(&event) + field.offset;
  switch (field.width) {
    case Width::kByte:
      return store<std::uint8_t>(at, value);
    case Width::kHalf:
      return store<std::uint16_t>(at, value);
    case Width::kWord:
      return store<std::uint32_t>(at, value);
    case Width::kSigned:
      return store<std::int32_t>(at, value);
    case Width::kLong:
      return store<std::uint64_t>(at, value);
  }
}

// Untrusted values are checked before they become enumerators.
bool in_range(const Field& field, std::uint64_t value) {
  if (field.width != Width::kSigned) return value <= field.most;
  const auto number = static_cast<std::int64_t>(value);
  return number >= INT32_MIN && number <= INT32_MAX;
}

// Shorter runs are not worth a group of their own.
constexpr std::size_t kLeastRun = 3;

}  // namespace

void EventDeltas::put(Payload& payload, const Event& event) {
  Event& last = this->last(event.kind);
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (value_of(event, kFields[i]) != value_of(last, kFields[i])) different |= std::uint64_t{1} << i;
  }
  payload.put(different);
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if ((different >> i & 1U) == 0) continue;
    // Differences wrap around in 64 bits, and the reader wraps them back.
    payload.put(zigzag(value_of(event, kFields[i]) - value_of(last, kFields[i])));
  }
  last = event;
}

Event EventDeltas::get(Cursor& cursor, EventKind kind) {
  Event& last = this->last(kind);
  const std::uint64_t different =
      cursor.number((std::uint64_t{1} << kFields.size()) - 1, "an event has fields that do not exist");
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if ((different >> i & 1U) == 0) continue;
    const std::uint64_t value = value_of(last, kFields[i]) + unzigzag(cursor.number());
    if (!in_range(kFields[i], value)) cursor.fail("a field of an event is out of range");
    // Fields keep valid values even if the event is damaged.
    if (cursor.problem() != nullptr) break;
    set(last, kFields[i], value);
  }
  last.kind = kind;
  return last;
}

std::size_t run_length(std::span<const std::uint64_t> values, std::size_t begin, std::size_t most) {
  // Before the first value comes 0.
  const std::uint64_t step = values[begin] - (begin == 0 ? 0 : values[begin - 1]);
  const std::size_t last = most < values.size() - begin ? begin + most : values.size();
  std::size_t end = begin + 1;
  // Compares 32 at once, which compilers vectorise: lists of all ranks are long.
  constexpr std::size_t kAtOnce = 32;
  for (; end + kAtOnce <= last; end += kAtOnce) {
    std::uint64_t others = 0;
    for (std::size_t i = end; i < end + kAtOnce; ++i) others |= (values[i] - values[i - 1]) ^ step;
    if (others != 0) break;
  }
  while (end < last && values[end] - values[end - 1] == step) ++end;
  return end - begin;
}

// count; then groups: 2 n + 1 and the difference common to n values, or 2 n and n differences
void put_list(Payload& payload, std::span<const std::uint64_t> values) {
  payload.put(values.size());
  const auto put_difference = [&](std::size_t i) {
    payload.put(zigzag(values[i] - (i == 0 ? 0 : values[i - 1])));
  };
  for (std::size_t i = 0; i < values.size();) {
    if (const std::size_t run = run_length(values, i); run >= kLeastRun) {
      payload.put(2 * run + 1);
      put_difference(i);
      i += run;
      continue;
    }
    std::size_t end = i + 1;
    // Numbers without a run go up to the next run.
    while (end < values.size() && run_length(values, end, kLeastRun) < kLeastRun) ++end;
    payload.put(2 * (end - i));
    for (; i < end; ++i) put_difference(i);
  }
}

void get_list(Cursor& cursor, std::vector<std::uint64_t>& values) {
  // The length is bounded before any value is stored.
  std::uint64_t left = cursor.number(kMostValues, "a list is too long");
  std::uint64_t value = 0;
  while (left > 0 && cursor.problem() == nullptr) {
    const std::uint64_t head = cursor.number();
    const std::uint64_t count = head >> 1U;
    if (count == 0 || count > left) return cursor.fail("a group of a list has a wrong length");
    left -= count;
    if ((head & 1U) != 0) {
      const std::uint64_t difference = unzigzag(cursor.number());
      for (std::uint64_t i = 0; i < count; ++i) values.push_back(value += difference);
    } else {
      // Each value takes a byte at least: a false count costs no memory.
      if (count > cursor.left()) return cursor.fail("a list is longer than its block");
      for (std::uint64_t i = 0; i < count; ++i) values.push_back(value += unzigzag(cursor.number()));
    }
  }
}

}  // namespace offramp::recording
