// Published figures, compared with the model.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::aie {

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::aie
