// Figures of the engine that are known from elsewhere, beside those of the model.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::zrlmpi {

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::zrlmpi
