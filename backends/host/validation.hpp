// Published figures of MPI on hosts without offload, beside those of the model.
#pragma once

#include "offramp/model/validation.hpp"

namespace offramp::host {

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::host
