// Figures of the cards and of services on them that are known from elsewhere, beside those of the model.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::dpu {

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::dpu
