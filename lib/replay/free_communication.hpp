// Communication that takes no time: what of a program no hardware changes.
#pragma once

#include "lib/replay/world_setting.hpp"

namespace offramp {

/// A world in which communication takes next to no time: what ranks still wait in MPI calls there is waiting
/// for each other's computing. host: the description of the plain host. like: with its ranks per node and its
/// stragglers, which hold up computing; its network and its faults are communication.
WorldSetting free_communication(const BackendDescription& host, const WorldSetting& like);

}  // namespace offramp
