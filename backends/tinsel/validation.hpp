// Published figures beside what the model gives for them.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::tinsel {

/// As BackendDescription::validation. Each row runs at the clock of its measurement.
ValidationRows validation();

}  // namespace offramp::tinsel
