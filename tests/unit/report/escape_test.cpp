#include "reconciler/report/escape.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

TEST(Escape, MarkdownIsACodeSpanThatTextCannotEnd) {
  EXPECT_EQ(markdown_code("@org/admins #1 <b>"), "`@org/admins #1 <b>`");
  EXPECT_EQ(markdown_code("a`b"), "`a\\x60b`");
  EXPECT_EQ(markdown_code(" a "), "`  a  `");
  EXPECT_EQ(markdown_code("a|b\nc"), "`a\\x7cb\\x0ac`");
  EXPECT_EQ(markdown_code(""), "");
}

TEST(Escape, WorkflowCommandsMatchTheToolkit) {
  EXPECT_EQ(workflow_data("100%: a,b"), "100%25: a,b");
  EXPECT_EQ(workflow_property("100%: a,b"), "100%25%3A a%2Cb");
  EXPECT_EQ(workflow_data("a\r\n::error::b"), "a\\x0d\\x0a::error::b") << "one line";
}

TEST(Escape, JsonIsValidAndHasNoCommands) {
  const nlohmann::json document{{"a\xff", "b\x1b\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\xa1##[x]\xfe"}};
  const std::string text = json_text(document, -1);
  EXPECT_EQ(text, "{\"a\\\\xff\":\"b\\u001b\\u007f\\u009b\\u202e\\udb40\\udc61\\u0023#[x]\\\\xfe\"}\n");
  EXPECT_EQ(nlohmann::json::parse(text)["a\\xff"], "b\x1b\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\xa1##[x]\\xfe");
}

TEST(Escape, ReportKeepsOnlyItsOwnColoursAndLines) {
  Terminal terminal;
  terminal.colour = true;
  const std::string painted = terminal.paint(Ink::red, "a\x1b[32m") + "\n";
  EXPECT_EQ(report_text(painted), "\x1b[31ma\\x1b[32m\x1b[0m\n");
  EXPECT_EQ(report_text("\x1b[2K\x1b[8m\r\xff"), "\\x1b[2K\\x1b[8m\\x0d\\xff");
}

TEST(Escape, ReportHasNoWorkflowCommands) {
  EXPECT_EQ(report_text("::error::a\n  ::set-env::b\n\xc2\xa0::c::"),
            "\\x3a:error::a\n  \\x3a:set-env::b\n\xc2\xa0\\x3a:c::");
  EXPECT_EQ(report_text("a ##[error]b"), "a \\x23#[error]b");
  EXPECT_EQ(report_text("fd00::1 and a::b"), "fd00::1 and a::b");
}

TEST(Escape, NoFormatHasAzureCommands) {
  const std::string command = "a ##vso[task.setvariable variable=x]y";
  for (const std::string& one : {report_text(command), json_text(nlohmann::json(command), -1),
                                 yaml_text({{"a", command}}), xml_text(command), dot_text(command)})
    EXPECT_EQ(one.find("##vso["), std::string::npos) << one;
}

TEST(Escape, CellIsAlwaysOneLine) {
  Terminal terminal;
  terminal.colour = true;
  Table table({{"device"}, {"value"}});
  table.add({terminal.paint(Ink::cyan, "gpu1\x1b[0m"), std::string("a\ngpu2  \x1b[31mb")});
  EXPECT_EQ(table.render(Terminal{}),
            "device       value\n\x1b[36mgpu1\\x1b[0m\x1b[0m  a\\x0agpu2  \\x1b[31mb\n");
}

TEST(Escape, ComposedTextEscapesItsArguments) {
  EXPECT_EQ(compose("{}: {} of {}\n", "a\nb", std::string("\x1b[1m"), 3), "a\\x0ab: \\x1b[1m of 3\n");
  Terminal terminal;
  terminal.colour = true;
  EXPECT_EQ(compose("{}!", terminal.paint(Ink::bold, "a")), "\x1b[1ma\x1b[0m!");
}

TEST(Escape, PathsAreReferences) { EXPECT_EQ(uri_of_path("a b/c#d:\xff.yaml"), "a%20b/c%23d%3A%FF.yaml"); }

}  // namespace
}  // namespace lockstep
