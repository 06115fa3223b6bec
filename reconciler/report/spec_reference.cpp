#include "reconciler/report/spec_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "reconciler/report/escape.hpp"
#include "reconciler/report/markdown_prose.hpp"
#include "specs/language/idle_fields.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kIntroduction =
    R"(# Spec reference

This page is generated from the tables by which lockstep loads specs (`CONTRIBUTING.md` says how to update it). An object is one
YAML document with `apiVersion: lockstep.dev/v1alpha1`, `kind`, `metadata` and `spec`; the fields below are those of `spec`.
`lockstep schema` prints the same as JSON Schema, for editors.

- **Default** is what applies where a field is left out. *unmanaged*: lockstep neither sets nor checks it. A dash: the field is
  optional and nothing follows from its absence.
- **No effect yet** marks what loads and nothing uses; `lockstep validate` reports it (LS1022).
- **Quantities** are a number with its unit. K, M, G and T are powers of 1000, Ki, Mi, Gi and Ti of 1024.
- **A hostlist** stands for several names: `gpu[001-512]`, `leaf[0-1],spine0`. With ports: `leaf[0-1]:swp[1-8]`.
- **Examples** are from specs that the test suite loads.

)";

std::string anchor_of(std::string_view heading) {
  std::string out;
  for (const char c : heading) {
    if (c == ' ') out += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string link_to(std::string_view heading) {
  return fmt::format("[{}](#{})", heading, anchor_of(heading));
}

// "Fabric.routing.bfd" as a heading: "Fabric: routing.bfd".
std::string heading_of(const std::string& path) {
  const std::size_t dot = path.find('.');
  return dot == std::string::npos ? path : path.substr(0, dot) + ": " + path.substr(dot + 1);
}

const Type& innermost(const Type& type) {
  const Type* at = &type;
  while (at->item != nullptr) at = &at->item();
  return *at;
}

std::string text_type(const Type& type, const Limits& limits) {
  if (!type.words.empty()) return "word";
  if (!type.pattern.empty()) return markdown_prose(type.noun);
  switch (limits.form) {
    case Form::hostlist:
    case Form::hosts: return "hostlist";
    case Form::ports: return "hostlist of ports";
    default: return "text";
  }
}

std::string type_text(const Type& type, const Limits& limits, const std::string& path) {
  switch (type.shape) {
    case Type::Shape::boolean: return "boolean";
    case Type::Shape::integer: return "whole number";
    case Type::Shape::text: return text_type(type, limits);
    case Type::Shape::literal: return limits.form == Form::scalar ? "number, boolean or text" : "any value";
    case Type::Shape::list: return "list: " + type_text(type.item(), limits, path);
    case Type::Shape::entries: return "map: " + type_text(type.item(), limits, path);
    case Type::Shape::object: break;
  }
  const std::string object = fmt::format("[object](#{})", anchor_of(heading_of(path)));
  return type.words.empty() ? object : "word, or " + object;
}

std::string words_text(const Type& type) {
  std::string out;
  for (const std::string_view word : type.words) out += (out.empty() ? "`" : ", `") + std::string(word) + "`";
  return out;
}

std::string range_text(const Type& type, const Limits& limits) {
  if (!limits.range.empty()) return markdown_prose(limits.range);
  if (type.shape != Type::Shape::integer) return "";
  const std::int64_t least = std::max(limits.least, type.least);
  const std::int64_t most = std::min(limits.most, type.most);
  const bool bounded = most != std::numeric_limits<std::int64_t>::max();
  return bounded ? fmt::format("{} to {}", least, most) : fmt::format("{} or more", least);
}

std::string allowed_text(const Type& type, const Limits& limits) {
  std::string out = words_text(innermost(type));
  if (out.empty()) out = range_text(innermost(type), limits);
  if (limits.not_empty) out += out.empty() ? "at least one" : ", at least one";
  if (!limits.why.empty()) out += fmt::format("{}({})", out.empty() ? "" : " ", markdown_prose(limits.why));
  return out;
}

std::string default_text(const Type& object, const Field& field) {
  if (field.limits.required) return "**required**";
  const std::string_view otherwise = otherwise_of(object, field);
  // For an object the fields have the defaults; an omitted list or map is empty.
  const Type& type = field.type();
  if (field.limits.otherwise.empty() && (type.item != nullptr || type.shape == Type::Shape::object))
    return "-";
  return otherwise.empty() ? "-" : markdown_prose(otherwise);
}

class Page {
 public:
  explicit Page(const FieldExamples& examples) : examples_(examples) {}

  void add_kind(const KindRow& kind) {
    const Type& type = kind.spec();
    std::string about = capitalised(kind.doc) + ".";
    if (kind.written_by_reconciler) about += " Written by the reconciler only.";
    if (is_idle(type.noun, "")) about += " **No effect yet.**";
    contents_ += fmt::format("- {}: {}\n", link_to(kind.name), markdown_prose(kind.doc));
    add_section(type, std::string(kind.name), 2, about);
  }
  void add_shared(const Type& type, const std::string& name, const std::string& about) {
    contents_ += fmt::format("- {}: {}\n", link_to(name), about);
    add_section(type, name, 2, capitalised(about) + ".");
  }

  std::string text() const {
    return std::string(kIntroduction) + "## Contents\n\n" + contents_ + "\n" + sections_;
  }

 private:
  void add_section(const Type& type, const std::string& path, int level, const std::string& about) {
    const std::string heading = heading_of(path);
    if (level > 2) contents_ += fmt::format("  - {}\n", link_to(heading));
    sections_ +=
        fmt::format("{} {}\n\n{}\n\n", std::string(static_cast<std::size_t>(level), '#'), heading, about);
    sections_ +=
        "| field | meaning | type | default | allowed | example |\n| --- | --- | --- | --- | --- | --- |\n";
    for (const Field& field : type.fields) add_field(type, field, path + "." + std::string(field.name));
    sections_ += "\n";
    for (const Field& field : type.fields) {
      const Type& inner = innermost(field.type());
      if (inner.shape == Type::Shape::object)
        add_section(inner, path + "." + std::string(field.name), 3,
                    capitalised(markdown_prose(field.doc)) + ".");
    }
  }

  void add_field(const Type& object, const Field& field, const std::string& path) {
    const Type& type = field.type();
    const auto example = examples_.find(path);
    sections_ += fmt::format(
        "| <a id=\"{}\"></a>`{}` | {}{} | {} | {} | {} | {} |\n", path, field.name, markdown_prose(field.doc),
        is_idle(object.noun, field.name) ? "; **no effect yet**" : "", type_text(type, field.limits, path),
        default_text(object, field), allowed_text(type, field.limits),
        example == examples_.end() ? "" : markdown_code(fmt::format("{}: {}", field.name, example->second)));
  }

  const FieldExamples& examples_;
  std::string contents_;
  std::string sections_;
};

}  // namespace

std::string spec_reference(const FieldExamples& examples) {
  Page page(examples);
  page.add_shared(metadata_type(), "Metadata", "`metadata` of every kind");
  page.add_shared(object_fields(), "Object", "fields that `spec` has in every kind");
  for (const KindRow& kind : kind_rows()) page.add_kind(kind);
  return page.text();
}

}  // namespace lockstep
