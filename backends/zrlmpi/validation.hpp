// Known figures of the engine, compared with the model.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::zrlmpi {

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::zrlmpi
