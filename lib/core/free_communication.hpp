// Communication that takes no time: what of a program no hardware changes.
#pragma once

#include "lib/core/world_setting.hpp"

namespace offramp {

/// A world in which communication takes next to no time: what ranks still wait in MPI calls there is waiting
/// for each other's computing. host: the description of the plain host.
WorldSetting free_communication(const BackendDescription& host);

}  // namespace offramp
