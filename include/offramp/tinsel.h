/* Runs programs for the threads of the Tinsel machine on its model (C11; pkg-config offramp-tinsel). Use it
 * to study what programmable routers and global multicast do for a program: the results are computed for
 * real, the times are the model's. Thread functions have the names of the machine's own interface.
 *
 * One program runs on all threads of a mesh of boards, as on the machine, within one thread of this process:
 *
 *   tinselMachine* machine = tinselCreate(NULL);
 *   tinselAddURM1(machine, tinselToAddr(0, 0, 1, 0, 2, 5), 7);      // a record of board (0, 0)
 *   tinselGenKey(machine, 0, 0, &key);                              // closes the list of that board
 *   if (tinselRun(machine, program, &data) != 0) puts(tinselError(machine));
 *   printf("%llu cycles\n", (unsigned long long)tinselElapsedCycles(machine));
 *   tinselDestroy(machine);
 *
 * Modelled time: C code costs nothing by itself; tinselWork() charges its instructions. A call costs 2
 * instructions, a send 4 plus one per word, a receive one more per word. Words cross the port of the mailbox
 * at one per cycle for all its threads. A thread issues at most one instruction per 8 cycles, a core one per
 * cycle.
 *
 * Threads: one thread of the process uses a machine at a time; different machines are independent. The
 * functions for threads may be called within tinselRun() only; elsewhere they end the process with a message.
 * An invalid argument (an unknown thread, a slot of another caller) ends the run. */
#ifndef OFFRAMP_TINSEL_H
#define OFFRAMP_TINSEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): the names are C's. */

#define OFFRAMP_TINSEL_API __attribute__((visibility("default")))

enum {
  TINSEL_FLIT_BYTES = 16,
  TINSEL_MAX_FLITS = 4, /* of a message */
  TINSEL_THREADS_PER_MAILBOX = 64,
  TINSEL_MAILBOXES_PER_BOARD = 16,
  TINSEL_MAX_BOARDS_X = 6,
  TINSEL_MAX_BOARDS_Y = 8
};

/* ---- The machine ---- */

typedef struct tinselMachine tinselMachine;

/* 0 selects the default. */
typedef struct {
  uint32_t boardsX, boardsY; /* 3 x 2; at most 6 x 8 */
  uint32_t clockMHz;         /* 210; at most 1000 */
  uint32_t dramCycles;       /* latency of a table lookup: 80 (assumed); at most 10000 */
  uint32_t stackBytes;       /* per thread, in this process: 65536; 16384 .. 2^26 */
  uint64_t maxCycles;        /* a run is ended after this many cycles; default: no limit */
} tinselOptions;

/* Creates a machine, which the caller destroys. options NULL: defaults. Returns NULL if a value is not
 * allowed, or when out of memory. */
OFFRAMP_TINSEL_API tinselMachine* tinselCreate(const tinselOptions* options);
OFFRAMP_TINSEL_API void tinselDestroy(tinselMachine* machine);
/* The reason why the last function returned -1; valid until the next call. */
OFFRAMP_TINSEL_API const char* tinselError(const tinselMachine* machine);

/* ---- Thread ids: 16 bits, Y3 X3 of the board, y2 x2 of the mailbox (tile), core 2, thread 4 ---- */

static inline uint32_t tinselToAddr(uint32_t boardX, uint32_t boardY, uint32_t tileX, uint32_t tileY,
                                    uint32_t coreId, uint32_t threadId) {
  return (boardY & 7u) << 13 | (boardX & 7u) << 10 | (tileY & 3u) << 8 | (tileX & 3u) << 6 |
         (coreId & 3u) << 4 | (threadId & 15u);
}
static inline void tinselFromAddr(uint32_t addr, uint32_t* boardX, uint32_t* boardY, uint32_t* tileX,
                                  uint32_t* tileY, uint32_t* coreId, uint32_t* threadId) {
  *threadId = addr & 15u;
  *coreId = addr >> 4 & 3u;
  *tileX = addr >> 6 & 3u;
  *tileY = addr >> 8 & 3u;
  *boardX = addr >> 10 & 7u;
  *boardY = addr >> 13 & 7u;
}

/* ---- Routing tables: before and between runs ---- */

/* A 32-bit routing key: DRAM, first beat, number of beats. Valid on its own board only. 0: no receivers. */
static inline uint32_t tinselKey(uint32_t ram, uint32_t beat, uint32_t numBeats) {
  return (ram & 1u) << 31 | (beat & 0x3ffffffu) << 5 | (numBeats & 31u);
}
enum { TINSEL_NORTH = 0, TINSEL_SOUTH = 1, TINSEL_EAST = 2, TINSEL_WEST = 3 };

/* These functions append a record to the open list of a board, the board of `dest` where there is one. They
 * return -1 if the board or thread does not exist, or when out of memory. Lists that are too long for a key
 * get IND records automatically.
 * - URM1, URM2: a copy for one thread, in which localKey replaces the first word (two words).
 * - MRM: for the masked threads of dest's mailbox; localKey replaces the lower half of the first word.
 * - RR: to the neighbouring board in that direction, with newKey there. */
OFFRAMP_TINSEL_API int tinselAddURM1(tinselMachine* machine, uint32_t dest, uint32_t localKey);
OFFRAMP_TINSEL_API int tinselAddURM2(tinselMachine* machine, uint32_t dest, uint64_t localKey);
OFFRAMP_TINSEL_API int tinselAddMRM(tinselMachine* machine, uint32_t dest, uint32_t destMaskHigh,
                                    uint32_t destMaskLow, uint16_t localKey);
OFFRAMP_TINSEL_API int tinselAddRR(tinselMachine* machine, uint32_t boardX, uint32_t boardY, int direction,
                                   uint32_t newKey);
/* Writes the open list of a board to its DRAM and opens a new one. *key is 0 if the list is empty. Returns -1
 * if the tables are full, or the list breaks a rule of the hardware; the list is then dropped. */
OFFRAMP_TINSEL_API int tinselGenKey(tinselMachine* machine, uint32_t boardX, uint32_t boardY, uint32_t* key);
/* Adds the tables of a tree from a board to `count` threads anywhere, with one MRM per mailbox, and returns
 * the key for threads of that board. Open lists must be empty. Returns -1 as tinselGenKey(). */
OFFRAMP_TINSEL_API int tinselAddTree(tinselMachine* machine, uint32_t boardX, uint32_t boardY,
                                     const uint32_t* dests, size_t count, uint16_t localKey, uint32_t* key);

/* ---- Runs ---- */

/* Runs program(argument) on every thread of the mesh, from time 0, until all have returned; returns 0 then. A
 * thread that has returned counts as waiting in tinselIdle(1). Tables persist between runs. Returns -1 after
 * an invalid call, when a router stopped, when all threads wait for messages that are never sent, when out of
 * memory, or after maxCycles. */
OFFRAMP_TINSEL_API int tinselRun(tinselMachine* machine, void (*program)(void* argument), void* argument);

/* Duration of the last run, until the last thread returned. */
OFFRAMP_TINSEL_API uint64_t tinselElapsedCycles(const tinselMachine* machine);
OFFRAMP_TINSEL_API uint64_t tinselElapsedPicoseconds(const tinselMachine* machine);

typedef struct {
  uint64_t sent;
  uint64_t delivered;  /* into mailboxes */
  uint64_t pointers;   /* receiving threads, over all delivered messages */
  uint64_t lookups;    /* keys looked up by routers */
  uint64_t beats;      /* beats of routing records read from DRAM */
  uint64_t records;    /* records processed by routers */
  uint64_t interBoard; /* messages over links between boards, including tokens of idle detection */
  uint64_t slotWaits;  /* messages that found all slots of a mailbox occupied */
  uint64_t idleRounds; /* rounds of idle detection */
} tinselCounters;
/* Copies the counters of the last run. */
OFFRAMP_TINSEL_API void tinselGetCounters(const tinselMachine* machine, tinselCounters* counters);

/* ---- For threads ---- */

/* The id of the calling thread; the lower and upper 32 bits of its modelled clock, in cycles. */
OFFRAMP_TINSEL_API uint32_t tinselId(void);
OFFRAMP_TINSEL_API uint32_t tinselCycleCount(void);
OFFRAMP_TINSEL_API uint32_t tinselCycleCountU(void);
/* An addition to the machine's interface: charges this many instructions to the thread. */
OFFRAMP_TINSEL_API void tinselWork(uint64_t instructions);

/* The two slots of 64 bytes in the mailbox from which a thread sends. Only one message can be outgoing at a
 * time: leave the slot untouched until tinselCanSend() returns nonzero. */
OFFRAMP_TINSEL_API volatile void* tinselSendSlot(void);
OFFRAMP_TINSEL_API volatile void* tinselSendSlotExtra(void);
OFFRAMP_TINSEL_API int tinselCanSend(void);
/* Sets the message length to n + 1 flits; n is 0 to 3, initially 0. */
OFFRAMP_TINSEL_API void tinselSetLen(int n);
/* Sends the message in a slot: to one thread; to any set of threads of a mailbox (the upper bits of a thread
 * id, shifted down by 6); along a key of this board. Requires tinselCanSend(). */
OFFRAMP_TINSEL_API void tinselSend(uint32_t dest, volatile void* addr);
OFFRAMP_TINSEL_API void tinselMulticast(uint32_t mboxDest, uint32_t destMaskHigh, uint32_t destMaskLow,
                                        volatile void* addr);
OFFRAMP_TINSEL_API void tinselKeySend(uint32_t key, volatile void* addr);
/* The mailbox id for sending along a key: tinselMulticast(tinselUseRoutingKey(), 0, key, slot). */
static inline uint32_t tinselUseRoutingKey(void) {
  return 1u << 12;
}

/* Returns 1 if a message has arrived, else 0. */
OFFRAMP_TINSEL_API int tinselCanRecv(void);
/* Returns the slot of the next message; requires tinselCanRecv(). The receivers of a multicast share the
 * slot. */
OFFRAMP_TINSEL_API volatile void* tinselRecv(void);
/* Releases a slot. The hardware reuses it once all its receivers have released it. */
OFFRAMP_TINSEL_API void tinselFree(volatile void* addr);

typedef enum { TINSEL_CAN_SEND = 1, TINSEL_CAN_RECV = 2 } TinselWakeupCond;
/* Sleeps until one of the conditions (joined by |) is true. */
OFFRAMP_TINSEL_API void tinselWaitUntil(uint32_t condition);
/* Sleeps until a message has arrived (returns 0), or until all threads are in this call and every message has
 * been received and freed (returns a value greater than 0, and greater than 1 if all have voted). Afterwards
 * tinselCanSend() may return 0 until the last round of the detection is over. */
OFFRAMP_TINSEL_API int tinselIdle(int vote);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif
#endif
