/* Programs for the threads of the Tinsel machine, on its model (C11; pkg-config offramp-tinsel). To be used
 * to try what programmable routers and global multicast do for a program: the answers are computed for real,
 * the times are the model's. Names of thread functions are those of the machine's own interface.
 *
 * One program runs on all threads of a mesh of boards, as on the machine, in one thread of this process:
 *
 *   tinselMachine* machine = tinselCreate(NULL);
 *   tinselAddURM1(machine, tinselToAddr(0, 0, 1, 0, 2, 5), 7);      // a record of board (0, 0)
 *   tinselGenKey(machine, 0, 0, &key);                              // closes the list of that board
 *   if (tinselRun(machine, program, &data) != 0) puts(tinselError(machine));
 *   printf("%llu cycles\n", (unsigned long long)tinselElapsedCycles(machine));
 *   tinselDestroy(machine);
 *
 * What a thread computes in C takes no modelled time by itself: tinselWork() says how many instructions it
 * stands for. A call takes 2 instructions, a send 4 and one more per word, a receive one more per word; words
 * cross the port of the mailbox, one per cycle for all its threads. A thread has an instruction per 8 cycles
 * at most, a core one per cycle.
 *
 * Threads: a machine is used by one thread of the process at a time; different machines are independent. The
 * functions of threads are for programs within tinselRun(); elsewhere they end the process with a message.
 * A mistake in them (a thread that is not there, a slot that is not the caller's) ends the run. */
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

/* 0 stands for the default. */
typedef struct {
  uint32_t boardsX, boardsY; /* 3 x 2; at most 6 x 8 */
  uint32_t clockMHz;         /* 210; at most 1000 */
  uint32_t dramCycles;       /* latency of a table lookup, 80 (assumed); at most 10000 */
  uint32_t stackBytes;       /* of a thread in this process, 65536; 16384 .. 2^26 */
  uint64_t maxCycles;        /* after which a run is ended as one that would never end; no limit */
} tinselOptions;

/* options NULL: defaults. NULL: a value that is not allowed, or no memory. */
OFFRAMP_TINSEL_API tinselMachine* tinselCreate(const tinselOptions* options);
OFFRAMP_TINSEL_API void tinselDestroy(tinselMachine* machine);
/* The last failure in words, for the function that has returned -1; valid until the next call. */
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

/* A routing key, 32 bits: which DRAM, the first beat, the number of beats. It means something on its board
 * only. 0: no receivers. */
static inline uint32_t tinselKey(uint32_t ram, uint32_t beat, uint32_t numBeats) {
  return (ram & 1u) << 31 | (beat & 0x3ffffffu) << 5 | (numBeats & 31u);
}
enum { TINSEL_NORTH = 0, TINSEL_SOUTH = 1, TINSEL_EAST = 2, TINSEL_WEST = 3 };

/* Append a record to the open list of a board (of `dest`'s, where there is one). -1: no such board or thread,
 * or no memory.
 * URM1, URM2: a copy for one thread, whose first word (two words) become localKey. MRM: for the threads of
 * the mask on dest's mailbox; the lower half of the first word becomes localKey. RR: to the board in that
 * direction, with newKey there. Lists that are too long for a key get IND records by themselves. */
OFFRAMP_TINSEL_API int tinselAddURM1(tinselMachine* machine, uint32_t dest, uint32_t localKey);
OFFRAMP_TINSEL_API int tinselAddURM2(tinselMachine* machine, uint32_t dest, uint64_t localKey);
OFFRAMP_TINSEL_API int tinselAddMRM(tinselMachine* machine, uint32_t dest, uint32_t destMaskHigh,
                                    uint32_t destMaskLow, uint16_t localKey);
OFFRAMP_TINSEL_API int tinselAddRR(tinselMachine* machine, uint32_t boardX, uint32_t boardY, int direction,
                                   uint32_t newKey);
/* Lays the open list of a board out in its DRAM and begins a new one. *key: 0 if there are no records. -1:
 * the tables are full, or the list breaks a rule of the hardware; then the list is dropped. */
OFFRAMP_TINSEL_API int tinselGenKey(tinselMachine* machine, uint32_t boardX, uint32_t boardY, uint32_t* key);
/* The tables of a tree from a board to `count` threads anywhere, an MRM per mailbox, and the key for threads
 * of that board. Open lists must be empty. -1: as above. */
OFFRAMP_TINSEL_API int tinselAddTree(tinselMachine* machine, uint32_t boardX, uint32_t boardY,
                                     const uint32_t* dests, size_t count, uint16_t localKey, uint32_t* key);

/* ---- Runs ---- */

/* Runs program(argument) on every thread of the mesh until all have returned. One that has returned counts as
 * waiting in tinselIdle(1). 0: all have returned. -1: a mistake of the program, a router that stopped,
 * threads that wait for a message that is never sent, no memory, or maxCycles are over. Time begins at 0, and
 * tables stay. */
OFFRAMP_TINSEL_API int tinselRun(tinselMachine* machine, void (*program)(void* argument), void* argument);

/* Of the last run: until the last thread returned. */
OFFRAMP_TINSEL_API uint64_t tinselElapsedCycles(const tinselMachine* machine);
OFFRAMP_TINSEL_API uint64_t tinselElapsedPicoseconds(const tinselMachine* machine);

typedef struct {
  uint64_t sent;       /* messages that threads have sent */
  uint64_t delivered;  /* into mailboxes */
  uint64_t pointers;   /* threads that they were for */
  uint64_t lookups;    /* keys that routers have looked up */
  uint64_t beats;      /* of routing records, read from DRAM */
  uint64_t records;    /* that routers have gone through */
  uint64_t interBoard; /* messages over links between boards, tokens of idle detection included */
  uint64_t slotWaits;  /* messages that have found a mailbox without a free slot */
  uint64_t idleRounds; /* of idle detection */
} tinselCounters;
OFFRAMP_TINSEL_API void tinselGetCounters(const tinselMachine* machine, tinselCounters* counters);

/* ---- For threads ---- */

OFFRAMP_TINSEL_API uint32_t tinselId(void);
OFFRAMP_TINSEL_API uint32_t tinselCycleCount(void);
OFFRAMP_TINSEL_API uint32_t tinselCycleCountU(void); /* the upper bits */
/* Not the machine's: the thread computes for so many instructions. */
OFFRAMP_TINSEL_API void tinselWork(uint64_t instructions);

/* The slot of 64 bytes in the mailbox that a thread sends from, and a second one. One message can be on its
 * way out of both: it is not to be touched until tinselCanSend() says so. */
OFFRAMP_TINSEL_API volatile void* tinselSendSlot(void);
OFFRAMP_TINSEL_API volatile void* tinselSendSlotExtra(void);
OFFRAMP_TINSEL_API int tinselCanSend(void);
/* Messages have n + 1 flits from now on; n is 0 to 3, 0 at first. */
OFFRAMP_TINSEL_API void tinselSetLen(int n);
/* Sends the message in a slot: to one thread; to any set of threads of a mailbox (an id without its lowest 6
 * bits, shifted down); along a key of this board. Only if tinselCanSend(). */
OFFRAMP_TINSEL_API void tinselSend(uint32_t dest, volatile void* addr);
OFFRAMP_TINSEL_API void tinselMulticast(uint32_t mboxDest, uint32_t destMaskHigh, uint32_t destMaskLow,
                                        volatile void* addr);
OFFRAMP_TINSEL_API void tinselKeySend(uint32_t key, volatile void* addr);
/* The mailbox that stands for "use a key": tinselMulticast(tinselUseRoutingKey(), 0, key, slot). */
static inline uint32_t tinselUseRoutingKey(void) {
  return 1u << 12;
}

OFFRAMP_TINSEL_API int tinselCanRecv(void);
/* The next message's slot; only if tinselCanRecv(). Threads that a multicast has reached share it. */
OFFRAMP_TINSEL_API volatile void* tinselRecv(void);
/* The hardware may use the slot again, once all its threads have freed it. */
OFFRAMP_TINSEL_API void tinselFree(volatile void* addr);

typedef enum { TINSEL_CAN_SEND = 1, TINSEL_CAN_RECV = 2 } TinselWakeupCond;
/* Sleeps until one of the conditions (joined by |) holds. */
OFFRAMP_TINSEL_API void tinselWaitUntil(uint32_t condition);
/* Sleeps until a message is there (0), or all threads of the mesh are in this call, and every message has
 * been received and freed (greater than 0; greater than 1 if all have voted). After that a thread may have to
 * wait for tinselCanSend() until the detection's last round. */
OFFRAMP_TINSEL_API int tinselIdle(int vote);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif
#endif
