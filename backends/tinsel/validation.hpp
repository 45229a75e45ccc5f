// Published figures, compared with the model.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::tinsel {

/// As BackendDescription::validation. Each row uses the clock of its measurement.
ValidationRows validation();

}  // namespace offramp::tinsel
