// What a SONiC switch's commands print over ssh, as bytes.
#include "drivers/sonic/patch_switch.hpp"
#include "specs/model/printable.hpp"
#include "tests/fuzz/parsers.hpp"

namespace lockstep::fuzzing {

void parse_switch_commands(std::string_view input) {
  sonic::SshRun run;
  const bool whole = sonic::read_ssh_parts(input, "mark", run);
  std::size_t bytes = 0;
  for (const auto& [name, part] : run.parts) bytes += name.size() + part.text.size();
  must(bytes <= input.size(), "parts are of what was printed");
  must(!whole || input.find("mark done\n") != input.npos, "an end was printed");
  for (const auto& [name, part] : run.parts) (void)sonic::rows_of_dump(part.text, "PORT_TABLE", ':');
  (void)sonic::rows_of_dump(input, "PORT_TABLE", ':');
  const std::string why = sonic::patch_failure(input);
  must(!why.empty() && why.size() <= 500 && printable(why) == why, "an error can be shown");
  must(why.find("[{") == why.npos, "an error does not repeat the patch");
}

std::vector<std::string> seeds_of_switch_commands() {
  return {"mark begin one\n{}\n\nmark end one 0\nmark begin two\n\nmark end two 2\nmark done\n",
          R"({"PORT_TABLE:Ethernet0": {"type": "hash", "value": {"oper_status": "up"}, "ttl": 3}})",
          "Failed to apply patch due to: no\nUsage: config apply-patch\n\nError: Failed validating patch: "
          "[{'op': 'add'}]\n",
          "mark begin one\nmark end one 0\n"};
}

}  // namespace lockstep::fuzzing
