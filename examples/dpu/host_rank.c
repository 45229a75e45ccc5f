/* A rank on a host: the second example of [dpu-service], completed. It connects to its service
 * process, waits until it knows the service processes of all ranks, and exchanges notifications with its own.
 *
 *   OFFLOAD_CONFIG_FILE_PATH=platform.conf DPU_OFFLOAD_HOST_NAME=node0 ./host_rank RANK RANKS
 *       [ROUNDS [PAUSE [LIMIT]]]
 *
 * RANKS run on this host. PAUSE: milliseconds between rounds. LIMIT: milliseconds without a sign of life
 * after which the service process is given up. Ends with 0 when all rounds were answered, with 3 when the
 * service process was lost. */
#include <offramp/dpu/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PING = 101, PONG = 102, LOST = 3 };

static int answers;
static int last_answer;

static int on_pong(dpu_offload_ev_sys_t* ev_sys, execution_context_t* econtext, am_header_t* header,
                   size_t header_len, void* data, size_t data_len) {
  (void)ev_sys;
  (void)econtext;
  (void)header;
  (void)header_len;
  if (data_len != sizeof last_answer) return DO_ERROR;
  memcpy(&last_answer, data, sizeof last_answer);
  ++answers;
  return DO_SUCCESS;
}

static int failure(const char* what, const char* why) {
  fprintf(stderr, "host_rank: %s: %s\n", what, why);
  return EXIT_FAILURE;
}

static int lost(offloading_engine_t* engine, execution_context_t* econtext) {
  fprintf(stderr, "host_rank: status %d: %s\n", econtext->client->status, offload_engine_error(engine));
  return econtext->client->status == DO_PEER_LOST ? LOST : EXIT_FAILURE;
}

static double now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Progresses for so long; false when the service process has gone. */
static bool pause_for(offloading_engine_t* engine, execution_context_t* econtext, double seconds) {
  const double end = now() + seconds;
  do offload_engine_progress(engine);
  while (now() < end && GET_ECONTEXT_BOOTSTRAPING_PHASE(econtext) != DISCONNECTED);
  return GET_ECONTEXT_BOOTSTRAPING_PHASE(econtext) != DISCONNECTED;
}

int main(int argc, char** argv) {
  if (argc < 3) return failure("usage", "host_rank RANK RANKS [ROUNDS [PAUSE [LIMIT]]]");
  offloading_config_t offload_config;
  offloading_engine_t* engine;
  char* offloading_config_file;
  execution_context_t* econtext;
  init_params_t offloading_init_params;
  conn_params_t client_conn_params;
  rank_info_t rank_info;
  const int rounds = argc > 3 ? atoi(argv[3]) : 5;
  const double gap = argc > 4 ? atof(argv[4]) * 1e-3 : 0;

  /* The group of all ranks. */
  RESET_RANK_INFO(&rank_info);
  rank_info.group_id = 7;
  rank_info.group_rank = atoi(argv[1]);
  rank_info.group_size = atoi(argv[2]);
  rank_info.n_local_ranks = (uint64_t)atoi(argv[2]);
  rank_info.local_rank = rank_info.group_rank;

  /* Get the configuration file path from the environment variable. */
  offloading_config_file = getenv(OFFLOAD_CONFIG_FILE_PATH_ENVVAR);

  if (offload_engine_init(&engine) != DO_SUCCESS) return failure("engine", "no memory");
  engine_register_default_notification_handler(engine, PONG, on_pong, NULL);

  INIT_DPU_CONFIG_DATA(&offload_config);
  offload_config.cfg_file = offloading_config_file;
  if (get_host_config(&offload_config) != DO_SUCCESS) return failure("configuration", offload_config.error);
  offload_config.offloading_engine = engine;

  RESET_INIT_PARAMS(&offloading_init_params);
  RESET_CONN_PARAMS(&client_conn_params);
  offloading_init_params.conn_params = &client_conn_params;
  offloading_init_params.proc_info = &rank_info;
  /* A new UCX worker and UCX context will be created. */
  offloading_init_params.worker = NULL;
  offloading_init_params.ucp_context = NULL;
  offloading_init_params.stall_timeout_ms = argc > 5 ? atoi(argv[5]) : 0;

  /* Figure out which service process running on the DPU is assigned to us. */
  if (get_local_service_proc_connect_info(&offload_config, &rank_info, &offloading_init_params) != DO_SUCCESS)
    return failure("service process", offload_engine_error(engine));

  /* Bootstrap the service, including the connection to the assigned service process. */
  econtext = client_init(engine, &offloading_init_params);
  if (econtext == NULL) return failure("client", offload_engine_error(engine));

  /* Assign the execution context to the engine for implicit progress. */
  engine->client = econtext;
  while (!group_cache_populated(engine, rank_info.group_id)) {
    if (!pause_for(engine, econtext, 0)) return lost(engine, econtext);
  }
  int64_t service_process;
  get_sp_id_by_group_rank(engine, rank_info.group_id, rank_info.group_size - 1, &service_process);
  printf("rank %d is connected; the last rank's service process is %d\n", (int)rank_info.group_rank,
         (int)service_process);
  fflush(stdout);

  for (int round = 1; round <= rounds; ++round) {
    dpu_offload_event_t* event;
    if (event_get(econtext->event_channels, NULL, &event) != DO_SUCCESS) return failure("event", "no memory");
    if (event_channel_emit_with_payload(&event, PING, GET_SERVER_EP(econtext), econtext->client->server_id,
                                        NULL, &round, sizeof round) < 0) {
      event_return(&event);
      return lost(engine, econtext);
    }
    while (answers < round) {
      if (!pause_for(engine, econtext, 0)) return lost(engine, econtext);
    }
    if (last_answer != round) return failure("answer", "it is another one");
    if (gap > 0 && !pause_for(engine, econtext, gap)) return lost(engine, econtext);
  }
  printf("rank %d: %d answers\n", (int)rank_info.group_rank, answers);

  client_fini(&econtext);
  offload_config_free(&offload_config);
  offload_engine_fini(&engine);
  return EXIT_SUCCESS;
}
