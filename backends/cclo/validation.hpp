// Published figures, compared with the model.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::cclo {

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::cclo
