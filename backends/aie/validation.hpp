// Published figures beside what the model gives for them.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::aie {

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::aie
