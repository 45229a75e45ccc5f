// Published figures beside what the model gives for them.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::cclo {

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::cclo
