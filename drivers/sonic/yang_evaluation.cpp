// What expressions of the models say of a configuration.
#include <regex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "drivers/sonic/text_parts.hpp"
#include "drivers/sonic/yang_expression.hpp"

namespace lockstep::sonic {
namespace {

using Nodes = std::vector<const YangNode*>;
using Outcome = std::variant<bool, double, std::string, Nodes>;
using Operation = YangOperation;

// XPath 1.0 §4.4: what is no number is NaN.
double parsed_number(std::string_view text) {
  text = without_blanks(text);
  double out = 0;
  const auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), out, std::chars_format::fixed);
  const bool is_number = !text.empty() && failed == std::errc() && end == text.data() + text.size();
  return is_number ? out : std::numeric_limits<double>::quiet_NaN();
}

std::string text_of(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  if (number == 0) return "0";
  std::array<char, 400> out{};
  const auto [end, failed] =
      std::to_chars(out.data(), out.data() + out.size(), number, std::chars_format::fixed);
  return failed == std::errc() ? std::string(out.data(), end) : "NaN";
}

std::string text_of(const Outcome& outcome) {
  if (const auto* const truth = std::get_if<bool>(&outcome)) return *truth ? "true" : "false";
  if (const auto* const number = std::get_if<double>(&outcome)) return text_of(*number);
  if (const auto* const text = std::get_if<std::string>(&outcome)) return *text;
  const Nodes& nodes = std::get<Nodes>(outcome);
  return nodes.empty() ? "" : nodes.front()->value;
}

// The parser refuses patterns in which XSD's and POSIX's differ.
bool matches(const std::string& text, const std::string& pattern) {
  regex_t compiled{};
  if (regcomp(&compiled, ("^(" + pattern + ")$").c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
  const bool found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return found;
}

double number_of(const Outcome& outcome) {
  if (const auto* const truth = std::get_if<bool>(&outcome)) return *truth ? 1 : 0;
  if (const auto* const number = std::get_if<double>(&outcome)) return *number;
  return parsed_number(text_of(outcome));
}

bool truth_of(const Outcome& outcome) {
  if (const auto* const truth = std::get_if<bool>(&outcome)) return *truth;
  if (const auto* const number = std::get_if<double>(&outcome)) return *number != 0 && !std::isnan(*number);
  if (const auto* const text = std::get_if<std::string>(&outcome)) return !text->empty();
  return !std::get<Nodes>(outcome).empty();
}

bool compare(Operation how, double left, double right) {
  switch (how) {
    case Operation::equal: return left == right;
    case Operation::not_equal: return left != right;
    case Operation::less: return left < right;
    case Operation::at_most: return left <= right;
    case Operation::greater: return left > right;
    default: return left >= right;
  }
}

bool is_equality(Operation how) { return how == Operation::equal || how == Operation::not_equal; }

bool compare_values(Operation how, const Outcome& left, const Outcome& right) {
  if (!is_equality(how)) return compare(how, number_of(left), number_of(right));
  bool equal = false;
  if (std::holds_alternative<bool>(left) || std::holds_alternative<bool>(right))
    equal = truth_of(left) == truth_of(right);
  else if (std::holds_alternative<double>(left) || std::holds_alternative<double>(right))
    equal = number_of(left) == number_of(right);
  else
    equal = text_of(left) == text_of(right);
  return equal == (how == Operation::equal);
}

// XPath 1.0 §3.4: of nodes it holds if it holds for one of them.
bool compare_outcomes(Operation how, const Outcome& left, const Outcome& right) {
  const auto* const nodes = std::get_if<Nodes>(&left);
  if (nodes != nullptr && !std::holds_alternative<bool>(right))
    return std::ranges::any_of(
        *nodes, [&](const YangNode* one) { return compare_outcomes(how, Outcome(one->value), right); });
  const auto* const others = std::get_if<Nodes>(&right);
  if (others != nullptr && !std::holds_alternative<bool>(left))
    return std::ranges::any_of(
        *others, [&](const YangNode* one) { return compare_values(how, left, Outcome(one->value)); });
  return compare_values(how, left, right);
}

class Evaluation {
 public:
  Evaluation(const YangNode& current, const YangLookup& lookup) : current_(current), lookup_(lookup) {}

  Outcome of(const YangExpression& e, const YangNode& context) const {
    switch (e.operation) {
      case Operation::either:
        return truth_of(of(e.operands[0], context)) || truth_of(of(e.operands[1], context));
      case Operation::both:
        return truth_of(of(e.operands[0], context)) && truth_of(of(e.operands[1], context));
      case Operation::equal:
      case Operation::not_equal:
      case Operation::less:
      case Operation::at_most:
      case Operation::greater:
      case Operation::at_least:
        return compare_outcomes(e.operation, of(e.operands[0], context), of(e.operands[1], context));
      case Operation::negate: return -number_of(of(e.operands[0], context));
      case Operation::unite: return united(e, context);
      case Operation::literal: return e.text;
      case Operation::number: return e.number;
      case Operation::call: return called(e, context);
      case Operation::path: return path(e, context);
      default: return computed(e, context);
    }
  }

 private:
  Outcome computed(const YangExpression& e, const YangNode& context) const {
    const double left = number_of(of(e.operands[0], context));
    const double right = number_of(of(e.operands[1], context));
    switch (e.operation) {
      case Operation::add: return left + right;
      case Operation::subtract: return left - right;
      case Operation::multiply: return left * right;
      case Operation::divide: return left / right;
      default: return std::fmod(left, right);
    }
  }

  Nodes united(const YangExpression& e, const YangNode& context) const {
    Nodes out;
    for (const YangExpression& operand : e.operands) {
      const Outcome nodes = of(operand, context);
      for (const YangNode* const one : std::get<Nodes>(nodes))
        if (std::ranges::find(out, one) == out.end()) out.push_back(one);
    }
    return out;
  }

  Outcome called(const YangExpression& e, const YangNode& context) const {
    const auto argument = [&](std::size_t i) { return of(e.operands[i], context); };
    const auto text = [&](std::size_t i) { return text_of(argument(i)); };
    const std::string_view name = e.text;
    if (name == "true") return true;
    if (name == "false") return false;
    if (name == "not") return !truth_of(argument(0));
    if (name == "boolean") return truth_of(argument(0));
    if (name == "count") return static_cast<double>(std::get<Nodes>(argument(0)).size());
    if (name == "number") return number_of(argument(0));
    if (name == "string") return text(0);
    if (name == "string-length")
      return static_cast<double>(characters(e.operands.empty() ? context.value : text(0)));
    if (name == "contains") return text(0).find(text(1)) != std::string::npos;
    if (name == "starts-with") return text(0).starts_with(text(1));
    if (name == "re-match") return matches(text(0), text(1));
    if (name == "concat") {
      std::string out;
      for (std::size_t i = 0; i < e.operands.size(); ++i) out += text(i);
      return out;
    }
    const std::string whole = text(0);
    if (name == "substring")
      return substring(whole, number_of(argument(1)),
                       e.operands.size() > 2 ? number_of(argument(2)) : HUGE_VAL);
    const std::string part = text(1);
    const std::size_t at = whole.find(part);
    if (at == whole.npos) return std::string();
    return name == "substring-before" ? whole.substr(0, at) : whole.substr(at + part.size());
  }

  static std::size_t characters(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
  }
  static bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }  // UTF-8

  // XPath 1.0 §4.2: the characters whose positions, from 1, are at least `first` and less than first +
  // length, both rounded.
  static std::string substring(const std::string& text, double first, double length) {
    const double from = std::floor(first + 0.5);
    const double end = from + std::floor(length + 0.5);
    std::string out;
    double position = 0;
    for (const char c : text) {
      if (begins_character(c)) ++position;
      if (position >= from && position < end) out += c;
    }
    return out;
  }

  Nodes path(const YangExpression& e, const YangNode& context) const {
    const YangNode* from = e.start == YangExpression::Start::context ? &context : &current_;
    if (e.start == YangExpression::Start::root)
      while (from->parent != nullptr) from = from->parent;
    Nodes nodes{from};
    for (const YangStep& step : e.steps) {
      Nodes next;
      for (const YangNode* const one : nodes) take(step, *one, next);
      nodes = std::move(next);
    }
    return nodes;
  }

  void take(const YangStep& step, const YangNode& from, Nodes& out) const {
    switch (step.axis) {
      case YangStep::Axis::self: return add(step, from, out);
      case YangStep::Axis::parent:
        if (from.parent != nullptr && std::ranges::find(out, from.parent) == out.end())
          add(step, *from.parent, out);
        return;
      case YangStep::Axis::child: break;
    }
    if (step.kind == nullptr) return;
    if (step.found_by == nullptr) {
      from.each_child(step.kind, [&](const YangNode& child) {
        if (!child.implied || lookup_.applies(child)) add(step, child, out);
      });
      return;
    }
    const YangExpression* first = &step.predicates.front();
    while (first->operation == Operation::both) first = &first->operands.front();
    const Outcome wanted = of(first->operands[step.with_operand], from);
    if (const auto* const text = std::get_if<std::string>(&wanted)) return add_found(step, from, *text, out);
    for (const YangNode* const one : std::get<Nodes>(wanted)) add_found(step, from, one->value, out);
  }

  void add_found(const YangStep& step, const YangNode& from, const std::string& value, Nodes& out) const {
    const Nodes* const rows = lookup_.rows_by(step.found_by, value);
    if (rows == nullptr) return;
    for (const YangNode* const row : *rows)
      if (row->parent == &from && std::ranges::find(out, row) == out.end()) add(step, *row, out);
  }

  void add(const YangStep& step, const YangNode& node, Nodes& out) const {
    const bool fits = std::ranges::all_of(
        step.predicates, [&](const YangExpression& predicate) { return truth_of(of(predicate, node)); });
    if (fits) out.push_back(&node);
  }

  const YangNode& current_;
  const YangLookup& lookup_;
};

}  // namespace

bool holds(const YangExpression& expression, const YangNode& node, const YangLookup& lookup) {
  return truth_of(Evaluation(node, lookup).of(expression, node));
}

std::vector<const YangNode*> nodes_of(const YangExpression& expression, const YangNode& node,
                                      const YangLookup& lookup) {
  const Outcome outcome = Evaluation(node, lookup).of(expression, node);
  const auto* const nodes = std::get_if<Nodes>(&outcome);
  return nodes == nullptr ? Nodes{} : *nodes;
}

}  // namespace lockstep::sonic
