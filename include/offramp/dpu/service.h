/* Includes all headers of the offload service library. */
#ifndef OFFRAMP_DPU_SERVICE_H
#define OFFRAMP_DPU_SERVICE_H

#include <offramp/dpu/cache.h>
#include <offramp/dpu/engine.h>
#include <offramp/dpu/events.h>
#include <offramp/dpu/ops.h>

#endif
