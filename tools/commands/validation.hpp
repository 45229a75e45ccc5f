// offramp explain validation: published figures and the model's, as a table or a plot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "offramp/model/backend.hpp"
#include "offramp/model/validation.hpp"

namespace offramp::tool {

/// A table in Markdown.
std::string validation_table(const ValidationRows& rows);

/// A table of how far to trust each backend, by its validation.
std::string trust_table(const std::vector<const BackendDescription*>& backends);

/// The model's figures over the published ones, as SVG. Rows without figures are omitted.
std::string validation_plot(const ValidationRows& rows, std::string_view backend);

}  // namespace offramp::tool
