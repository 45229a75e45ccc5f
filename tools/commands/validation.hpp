// offramp explain validation: published figures beside the model's, as a table of the documents or as a plot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "offramp/model/backend.hpp"
#include "offramp/model/validation.hpp"

namespace offramp::tool {

/// In Markdown.
std::string validation_table(const ValidationRows& rows);

/// How far to trust each of these: what their validation says, in a line of a table each.
std::string trust_table(const std::vector<const BackendDescription*>& backends);

/// The model's figures over the published ones, as SVG; rows that are no figures are left out.
std::string validation_plot(const ValidationRows& rows, std::string_view backend);

}  // namespace offramp::tool
