#include "specs/language/field_examples.hpp"

#include <algorithm>

#include "specs/language/kind_rows.hpp"
#include "specs/language/load.hpp"
#include "specs/language/node.hpp"

namespace lockstep {
namespace {

std::string flow_text(const Node& node);

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& one : parts) out += (out.empty() ? "" : ", ") + one;
  return out;
}

std::string flow_text(const Node& node) {
  std::vector<std::string> parts;
  switch (node.shape) {
    case Node::Shape::null: return "null";
    case Node::Shape::scalar: return node.plain ? node.text : '"' + node.text + '"';
    case Node::Shape::list:
      for (const Node* const item : node.items) parts.push_back(flow_text(*item));
      return "[" + joined(parts) + "]";
    case Node::Shape::map:
      for (const auto& [key, value] : node.fields)
        parts.push_back(flow_text(*key) + ": " + flow_text(*value));
  }
  return "{" + joined(parts) + "}";
}

class Collector {
 public:
  explicit Collector(FieldExamples& out) : out_(out) {}

  void add_document(const Node& document) {
    const Node* const name = document.find("kind");
    const KindRow* const kind = name == nullptr ? nullptr : find_kind(name->text);
    if (kind == nullptr) return;
    if (const Node* const metadata = document.find("metadata"))
      add_fields(metadata_type(), *metadata, "Metadata");
    const Node* const spec = document.find("spec");
    if (spec == nullptr) return;
    add_fields(kind->spec(), *spec, std::string(kind->name));
    add_fields(object_fields(), *spec, "Object");
  }

 private:
  void add_fields(const Type& type, const Node& map, const std::string& path) {
    for (const Field& field : type.fields)
      if (const Node* const value = map.find(field.name))
        add_value(field.type(), *value, path + "." + std::string(field.name));
  }

  void add_value(const Type& type, const Node& value, const std::string& path) {
    if (std::string text = flow_text(value); text.size() <= example_length_limit)
      out_.try_emplace(path, std::move(text));
    add_objects(type, value, path);
  }

  // The fields of the objects in a value.
  void add_objects(const Type& type, const Node& value, const std::string& path) {
    if (type.item != nullptr) {
      for (const Node* const item : value.items) add_objects(type.item(), *item, path);
      for (const auto& [key, entry] : value.fields) add_objects(type.item(), *entry, path);
    } else if (value.shape == Node::Shape::map) {
      add_fields(type, value, path);
    }
  }

  FieldExamples& out_;
};

}  // namespace

Result<FieldExamples> field_examples(const std::vector<std::string>& paths) {
  FieldExamples out;
  Collector collector(out);
  for (const std::string& path : paths) {
    const Loaded loaded = load({path});
    if (has_errors(loaded.diagnostics)) return Error{ErrorKind::invalid_spec, path + " has errors"};
    Diagnostics ignored;  // load() has read these files before, and found no errors
    Reporter reporter(loaded.catalog.sources, ignored);
    for (std::uint32_t file = 1; file < loaded.catalog.sources.files.size(); ++file)
      read_documents(file, reporter, [&](const Node& document) { collector.add_document(document); });
  }
  return out;
}

}  // namespace lockstep
