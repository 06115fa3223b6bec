// Media types of HTTP: what a client accepts (RFC 9110 12.5.1), and what it sends.
//
// Promises: pure. A malformed part of a list accepts nothing; the others count.
#pragma once

#include <string_view>

namespace lockstep::api {

// Whether the value of Accept admits this type ("application/json"). None at all, "", admits all.
bool accepts(std::string_view accept, std::string_view type);
// Whether a value of Content-Type is JSON in UTF-8.
bool is_json_type(std::string_view content_type);

}  // namespace lockstep::api
