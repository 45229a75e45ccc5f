// Known figures of the cards and of services on them, compared with the model.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::dpu {

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::dpu
