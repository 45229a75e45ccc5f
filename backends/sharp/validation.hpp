// Published figures beside those of the model.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::sharp {

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::sharp
