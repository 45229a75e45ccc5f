/* A service process: the first example of [dpu-service], completed. It reads the configuration file,
 * connects to all other service processes, lets ranks connect, echoes their notifications of type PING, and
 * ends when all ranks have gone.
 *
 *   OFFLOAD_CONFIG_FILE_PATH=platform.conf DPU_OFFLOAD_LIST_DPUS=dpu0 DPU_OFFLOAD_DPU_NAME=dpu0
 * ./service_process
 */
#include <offramp/dpu/service.h>
#include <stdio.h>
#include <stdlib.h>

enum { PING = 101, PONG = 102 };

/* Sends back what came, to where it came from. */
static int echo(dpu_offload_ev_sys_t* ev_sys, execution_context_t* econtext, am_header_t* header,
                size_t header_len, void* data, size_t data_len) {
  (void)econtext;
  (void)header_len;
  dpu_offload_event_info_t info = {.payload_size = data_len};
  dpu_offload_event_t* event;
  if (event_get(ev_sys, &info, &event) != DO_SUCCESS) return DO_ERROR;
  if (data_len > 0) memcpy(event->payload, data, data_len);
  if (event_channel_emit(&event, PONG, NULL, header->client_id, NULL) >= 0) return DO_SUCCESS;
  event_return(&event);
  return DO_ERROR;
}

static int failure(const char* what, const char* why) {
  fprintf(stderr, "service_process: %s: %s\n", what, why);
  return EXIT_FAILURE;
}

int main(void) {
  /* Initialize the offloading engine. */
  offloading_engine_t* offload_engine;
  if (offload_engine_init(&offload_engine) != DO_SUCCESS) return failure("engine", "no memory");
  engine_register_default_notification_handler(offload_engine, PING, echo, NULL);

  /* Load the configuration from the configuration file. */
  offloading_config_t config_data;
  INIT_DPU_CONFIG_DATA(&config_data);
  config_data.offloading_engine = offload_engine;
  if (get_dpu_config(offload_engine, &config_data) != DO_SUCCESS)
    return failure("configuration", config_data.error);

  /* Initiate the connections between all the service processes. */
  if (inter_dpus_connect_mgr(offload_engine, &config_data) != DO_SUCCESS)
    return failure("connections", offload_engine_error(offload_engine));
  dpu_offload_status_t mesh;
  while ((mesh = offload_mesh_status(offload_engine)) == DO_NOT_APPLICABLE)
    offload_engine_progress(offload_engine);
  if (mesh != DO_SUCCESS) return failure("connections", offload_engine_error(offload_engine));

  /* Create a server so that processes running on the host can connect. The first slots are those of the
   * service processes. */
  SET_DEFAULT_DPU_HOST_SERVER_CALLBACKS(&(config_data.local_service_proc.host_init_params));
  config_data.local_service_proc.host_init_params.id = offload_engine->num_service_procs;
  config_data.local_service_proc.host_init_params.id_set = true;
  execution_context_t* service_server;
  service_server = server_init(offload_engine, &(config_data.local_service_proc.host_init_params));
  if (service_server == NULL) return failure("server", offload_engine_error(offload_engine));
  printf("service process %d of %zu is ready\n", (int)offload_engine->global_id,
         offload_engine->num_service_procs);
  fflush(stdout);

  while (!service_server->server->done) lib_progress(service_server);
  printf("all ranks have gone, %zu without a goodbye\n", service_server->server->num_lost_clients);

  server_fini(&service_server);
  offload_config_free(&config_data);
  offload_engine_fini(&offload_engine);
  return EXIT_SUCCESS;
}
