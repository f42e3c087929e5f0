// The completion scripts: whole texts for a small table, and what the shells make of a larger one.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <gtest/gtest.h>

#include "base/command_line.h"
#include "base/command_line_fixture.h"
#include "base/files.h"

namespace partita::base {
namespace {

// Text that a shell would take for its own, in every place where text goes.
Program SmallProgram() {
  Program program;
  program.root = {.name = "a-tool", .summary = "a tool"};
  program.root.commands = {
      {.name = "show",
       .summary = "show: it's \"all\" of $HOME",
       .options = {{.name = "output",
                    .letter = 'o',
                    .value_name = "FORMAT",
                    .help = "it's [text] or: json",
                    .choices = {"text", "json"}},
                   {.name = "file", .value_name = "FILE", .help = "from here"}},
       .run = [](const Invocation&) { return 0; }},
      {.name = "hidden", .summary = "not offered", .hidden = true},
  };
  return program;
}

TEST(Completion, SuggestionsAreOfferedAndOthersAccepted) {
  Program program = SmallProgram();
  Option& output = program.root.commands[0].options[0];
  output.suggestions = std::exchange(output.choices, {});
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_EQ(Completion(program, shell), Completion(SmallProgram(), shell)) << shell;
  const auto none = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
  const std::vector<std::string> words = {"show", "--output", "other"};
  EXPECT_TRUE(ParseCommandLine(program, words, none).ok());
  EXPECT_FALSE(ParseCommandLine(SmallProgram(), words, none).ok());
}

TEST(Completion, ForBash) {
  EXPECT_EQ(Completion(SmallProgram(), "bash"), R"TEXT(# bash completion for a-tool
_a_tool() {
  local cur="${COMP_WORDS[COMP_CWORD]}" option="${COMP_WORDS[COMP_CWORD-1]}"
  local at='' word='' skip=0 i words='' options=''
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $option == '=' ]]; then
    option="${COMP_WORDS[COMP_CWORD-2]}"
  fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    if [[ $word == '=' ]]; then skip=1; continue; fi
    if ((skip)); then skip=0; continue; fi
    if [[ $word == '--' ]]; then compopt -o default; return; fi
    case "$at:$word" in
      ':show') at='show' ;;
      'show:--output'|'show:-o') skip=1 ;;
      'show:--file') skip=1 ;;
    esac
  done
  case "$at:$option" in
    'show:--output'|'show:-o') _a_tool_reply 'text json'; return ;;
    'show:--file') compopt -o default; return ;;
  esac
  case "$at" in
    '') words='show'; options='--help -h --version' ;;
    'show') words=''; options='--output -o --file --help -h' ;;
  esac
  if [[ $cur == -* ]]; then
    _a_tool_reply "$options"
  elif [[ -n $words ]]; then
    _a_tool_reply "$words"
  else
    compopt -o default
  fi
}

_a_tool_reply() {
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

complete -F _a_tool a-tool
)TEXT");
}

TEST(Completion, ForZsh) {
  EXPECT_EQ(Completion(SmallProgram(), "zsh"), R"TEXT(#compdef a-tool

_a_tool() {
  local curcontext="$curcontext" state line
  typeset -A opt_args
  _arguments -s -C \
    '(-h --help)'{-h,--help}'[show help]' \
    '--version[show the version]' \
    '1: :->command' \
    '*:: :->rest'
  case $state in
    command)
      local -a commands=(
        'show:show\: it'\''s "all" of $HOME'
      )
      _describe -t commands 'command' commands ;;
    rest)
      case $words[1] in
        show) _a_tool_show ;;
      esac ;;
  esac
}

_a_tool_show() {
  _arguments -s \
    '(-o --output)'{-o+,--output=}'[it'\''s \[text\] or\: json]:FORMAT:(text json)' \
    '--file=[from here]:FILE:_files' \
    '(-h --help)'{-h,--help}'[show help]'
}

if [ "$funcstack[1]" = _a_tool ]; then
  _a_tool "$@"
else
  compdef _a_tool a-tool
fi
)TEXT");
}

TEST(Completion, ForFish) {
  EXPECT_EQ(Completion(SmallProgram(), "fish"), R"TEXT(# fish completion for a-tool
function __a_tool_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l at ''
    set -l skip 0
    for word in $words
        if test $skip = 1
            set skip 0
            continue
        end
        if test "$word" = --
            set at '--'
            break
        end
        switch "$at:$word"
            case ':show'
                set at 'show'
            case 'show:--output' 'show:-o'
                set skip 1
            case 'show:--file'
                set skip 1
        end
    end
    test "$at" = "$argv[1]"
end

complete -c a-tool -n "__a_tool_at ''" -f -a show -d 'show: it\'s "all" of $HOME'
complete -c a-tool -n "__a_tool_at ''" -l help -s h -d 'show help'
complete -c a-tool -n "__a_tool_at ''" -l version -d 'show the version'
complete -c a-tool -n "__a_tool_at 'show'" -l output -s o -x -a 'text json' -d 'it\'s [text] or: json'
complete -c a-tool -n "__a_tool_at 'show'" -l file -r -F -d 'from here'
complete -c a-tool -n "__a_tool_at 'show'" -l help -s h -d 'show help'
)TEXT");
}

TEST(Completion, KnowsThreeShells) { EXPECT_EQ(Completion(SmallProgram(), "tcsh"), ""); }

// The standard output of a script in the given shell, and its status.
struct Ran {
  int status;
  std::string output;
};

Ran RunScript(const std::string& shell, const std::string& script) {
  std::string path = testing::TempDir() + "/partita-completion-XXXXXX";
  close(mkstemp(path.data()));
  EXPECT_TRUE(WriteFile(path, script, 0600).ok());
  // NOLINTNEXTLINE(cert-env33-c): the shell is what is tested, and the path is our own.
  FILE* pipe = popen((shell + " " + path + " 2>&1").c_str(), "re");
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
  const int status = pclose(pipe);
  unlink(path.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

bool IsInstalled(const std::string& shell) {
  return RunScript(shell + " --version", "").status == 0;
}

// Bash itself calls the function with the words split at "=" and the cursor in the last one.
TEST(Completion, WorksInBash) {
  const Ran ran = RunScript("bash", Completion(SampleProgram(), "bash") + R"(
compopt() { REPLY_BY="$*"; }
try() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); REPLY_BY=
  _gpu_tool
  echo "$* -> ${COMPREPLY[*]}$REPLY_BY"
}
try gpu-tool ''
try gpu-tool st
try gpu-tool se
try gpu-tool status --o
try gpu-tool status -o ''
try gpu-tool status --output = j
try gpu-tool status --output =
try gpu-tool status --gpu ''
try gpu-tool --driver-root ''
try gpu-tool --driver-root mig ''
try gpu-tool --driver-root = mig ap
try gpu-tool mig ''
try gpu-tool mig apply --config-file ''
try gpu-tool run 0 -- ''
try gpu-tool completion ''
)");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output, R"(gpu-tool  -> status mig run completion
gpu-tool st -> status
gpu-tool se -> 
gpu-tool status --o -> --output
gpu-tool status -o  -> text json yaml
gpu-tool status --output = j -> json
gpu-tool status --output = -> text json yaml
gpu-tool status --gpu  -> 
gpu-tool --driver-root  -> -o dirnames
gpu-tool --driver-root mig  -> status mig run completion
gpu-tool --driver-root = mig ap -> 
gpu-tool mig  -> apply
gpu-tool mig apply --config-file  -> -o default
gpu-tool run 0 --  -> -o default
gpu-tool completion  -> bash zsh fish
)");
}

TEST(Completion, WorksInFish) {
  if (!IsInstalled("fish")) GTEST_SKIP() << "fish is not installed: apt-get install fish";
  const Ran ran = RunScript("fish", Completion(SampleProgram(), "fish") + R"(
complete -C 'gpu-tool st'
complete -C 'gpu-tool status -o '
complete -C 'gpu-tool --driver-root mig ru'
complete -C 'gpu-tool mig '
)");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output,
            "status\tshow GPUs, slices and who uses them\n"
            "json\thow to show it\ntext\thow to show it\nyaml\thow to show it\n"
            "run\trun a program with one GPU\n"
            "apply\tbring a GPU to a layout\n");
}

TEST(Completion, IsReadByZsh) {
  if (!IsInstalled("zsh")) GTEST_SKIP() << "zsh is not installed: apt-get install zsh";
  const Ran ran = RunScript("zsh -f", "compdef() { print -r -- \"$@\" }\n" +
                                          Completion(SampleProgram(), "zsh") +
                                          "whence -w _gpu_tool_mig_apply\n");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output, "_gpu_tool gpu-tool\n_gpu_tool_mig_apply: function\n");
}

}  // namespace
}  // namespace partita::base
