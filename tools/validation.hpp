// offramp explain validation: published figures beside the model's, as a table of the documents or as a plot.
#pragma once

#include <string>
#include <string_view>

#include "offramp/model/validation.hpp"

namespace offramp::tool {

/// In Markdown.
std::string validation_table(const ValidationRows& rows);

/// The model's figures over the published ones, as SVG; rows that are no figures are left out.
std::string validation_plot(const ValidationRows& rows, std::string_view backend);

}  // namespace offramp::tool
