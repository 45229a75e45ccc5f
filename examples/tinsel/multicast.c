/* One thread of a Tinsel machine sends a message to many others in three ways: one send for each of them, one
 * for each of their mailboxes, and one with a key, whose copies the boards' routers make. Every receiver
 * checks what it has got. tinselIdle() separates the three.
 *
 *   ./multicast [BOARDS_X BOARDS_Y [PER_MAILBOX]]
 *
 * The receivers are the first PER_MAILBOX threads of every mailbox. With the key, those of the source's own
 * board get a local key each (URM1, as many as need IND records), those of other boards one per mailbox
 * (MRM). Ends with 0 if every message came to where it should. */
#include <offramp/tinsel.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 3, FLITS = 2, WORDS = FLITS * TINSEL_FLIT_BYTES / 4, VALUE = 0xbeef, SOURCE = 0 };
enum { BY_THREAD, BY_MAILBOX, BY_KEY };
static const char* const kNames[ROUNDS] = {"a send per thread", "a send per mailbox", "a send with a key"};

struct data {
  uint32_t boards_x, boards_y, per_mailbox;
  uint32_t key;
  uint32_t received, wrong;
  uint64_t begin[ROUNDS], end[ROUNDS]; /* in cycles */
};

static uint64_t now(void) {
  const uint64_t high = tinselCycleCountU();
  return high << 32 | tinselCycleCount();
}

static volatile uint32_t* slot_to_send(void) {
  tinselWaitUntil(TINSEL_CAN_SEND);
  return tinselSendSlot();
}

static void send_all(struct data* data, int round) {
  volatile uint32_t* message = slot_to_send();
  data->begin[round] = now();
  tinselSetLen(FLITS - 1);
  message[0] = 0;
  message[1] = (uint32_t)round;
  for (uint32_t word = 2; word < WORDS; ++word) message[word] = VALUE + word;
  if (round == BY_KEY) {
    tinselKeySend(data->key, message);
    return;
  }
  for (uint32_t board = 0; board < data->boards_x * data->boards_y; ++board) {
    for (uint32_t tile = 0; tile < TINSEL_MAILBOXES_PER_BOARD; ++tile) {
      const uint32_t first =
          tinselToAddr(board % data->boards_x, board / data->boards_x, tile % 4, tile / 4, 0, 0);
      if (round == BY_MAILBOX) {
        const uint64_t mask = data->per_mailbox == 64 ? ~UINT64_C(0) : (UINT64_C(1) << data->per_mailbox) - 1;
        message = slot_to_send();
        tinselMulticast(first >> 6, (uint32_t)(mask >> 32), (uint32_t)mask, message);
        continue;
      }
      for (uint32_t thread = 0; thread < data->per_mailbox; ++thread) {
        message = slot_to_send();
        tinselSend(first + thread, message);
      }
    }
  }
}

/* With a key, word 0 is what the record says: a number of the thread's own on the source's board. */
static bool is_right(const volatile uint32_t* message, uint32_t id, int round) {
  uint32_t local = 0;
  if (round == BY_KEY) local = id >> 10 == 0 ? 1000000 + id : 7;
  bool right = message[0] == local && message[1] == (uint32_t)round;
  for (uint32_t word = 2; word < WORDS; ++word) right = right && message[word] == VALUE + word;
  return right;
}

static void program(void* argument) {
  struct data* data = argument;
  const uint32_t id = tinselId();
  const bool receives = (id & 63) < data->per_mailbox;
  if (id != SOURCE && !receives) return;
  for (int round = 0; round < ROUNDS; ++round) {
    if (id == SOURCE) send_all(data, round);
    while (tinselIdle(1) == 0) {
      volatile uint32_t* message = tinselRecv();
      if (!is_right(message, id, round)) ++data->wrong;
      ++data->received;
      tinselFree(message);
      const uint64_t end = now();
      if (end > data->end[round]) data->end[round] = end;
    }
  }
}

/* Threads of other boards get a copy for their mailbox, along a tree from the board to the north, or from the
 * one to the east: messages go north and south first, so that they cannot block each other. */
static int build_key(tinselMachine* machine, struct data* data) {
  const size_t most =
      (size_t)data->boards_x * data->boards_y * TINSEL_MAILBOXES_PER_BOARD * data->per_mailbox;
  uint32_t* dests[2] = {calloc(most, sizeof **dests), calloc(most, sizeof **dests)};
  size_t counts[2] = {0, 0};
  int status = dests[0] != NULL && dests[1] != NULL ? 0 : -1;
  for (uint32_t board = 0; status == 0 && board < data->boards_x * data->boards_y; ++board) {
    const uint32_t x = board % data->boards_x;
    const uint32_t y = board / data->boards_x;
    const int way = y > 0 ? 0 : 1;
    for (uint32_t i = 0; i < TINSEL_MAILBOXES_PER_BOARD * data->per_mailbox && board > 0; ++i) {
      const uint32_t tile = i / data->per_mailbox;
      dests[way][counts[way]++] = tinselToAddr(x, y, tile % 4, tile / 4, 0, 0) + i % data->per_mailbox;
    }
  }
  uint32_t key = 0;
  if (status == 0 && counts[0] > 0) {
    status = tinselAddTree(machine, 0, 1, dests[0], counts[0], 7, &key);
    if (status == 0) status = tinselAddRR(machine, 0, 0, TINSEL_NORTH, key);
  }
  if (status == 0 && counts[1] > 0) {
    status = tinselAddTree(machine, 1, 0, dests[1], counts[1], 7, &key);
    if (status == 0) status = tinselAddRR(machine, 0, 0, TINSEL_EAST, key);
  }
  free(dests[0]);
  free(dests[1]);
  for (uint32_t i = 0; status == 0 && i < TINSEL_MAILBOXES_PER_BOARD * data->per_mailbox; ++i) {
    const uint32_t tile = i / data->per_mailbox;
    const uint32_t id = tinselToAddr(0, 0, tile % 4, tile / 4, 0, 0) + i % data->per_mailbox;
    status = tinselAddURM1(machine, id, 1000000 + id);
  }
  return status == 0 ? tinselGenKey(machine, 0, 0, &data->key) : status;
}

static uint32_t number(int argc, char** argv, int which, uint32_t otherwise, uint32_t most) {
  const int value = argc > which ? atoi(argv[which]) : (int)otherwise;
  return value >= 1 && value <= (int)most ? (uint32_t)value : 0;
}

int main(int argc, char** argv) {
  struct data data = {.boards_x = number(argc, argv, 1, 3, TINSEL_MAX_BOARDS_X),
                      .boards_y = number(argc, argv, 2, 2, TINSEL_MAX_BOARDS_Y),
                      .per_mailbox = number(argc, argv, 3, 4, TINSEL_THREADS_PER_MAILBOX)};
  if (data.boards_x == 0 || data.boards_y == 0 || data.per_mailbox == 0) {
    fputs("multicast: [BOARDS_X BOARDS_Y [PER_MAILBOX]], at most 6 8 64\n", stderr);
    return EXIT_FAILURE;
  }
  const tinselOptions options = {.boardsX = data.boards_x, .boardsY = data.boards_y};
  tinselMachine* machine = tinselCreate(&options);
  if (machine == NULL) {
    fputs("multicast: no memory\n", stderr);
    return EXIT_FAILURE;
  }
  int status = build_key(machine, &data);
  if (status == 0) status = tinselRun(machine, program, &data);
  if (status != 0) fprintf(stderr, "multicast: %s\n", tinselError(machine));
  const uint32_t receivers = data.boards_x * data.boards_y * TINSEL_MAILBOXES_PER_BOARD * data.per_mailbox;
  printf("%u receivers on %u boards\n", receivers, data.boards_x * data.boards_y);
  for (int round = 0; status == 0 && round < ROUNDS; ++round)
    printf("%-19s %10llu cycles\n", kNames[round], (unsigned long long)(data.end[round] - data.begin[round]));
  tinselCounters counters;
  tinselGetCounters(machine, &counters);
  printf("%llu records in %llu beats, %llu rounds of idle detection\n", (unsigned long long)counters.records,
         (unsigned long long)counters.beats, (unsigned long long)counters.idleRounds);
  tinselDestroy(machine);
  if (status == 0 && (data.wrong > 0 || data.received != ROUNDS * receivers)) {
    fprintf(stderr, "multicast: %u messages have come, %u of them wrong\n", data.received, data.wrong);
    status = -1;
  }
  return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
