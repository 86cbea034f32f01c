"""Lines and what rules say of them: every command counts by itself, however it is written and whatever starts it."""

from __future__ import annotations

import pytest

from .rules_desk import command, policy

RULES = policy(
    allow=["Bash(git:*)", "Bash(ls *)", "Bash(echo:*)", "Bash(npm run test)", "Bash(sudo ls:*)", "Write(out/**)"],
    ask=["Bash(git push:*)"],
    deny=["Bash(rm *)", "Bash(git push * --force *)", "Edit(secret/**)"],
)

DENIED = [
    # written in other ways
    "rm", "rm x", "rm -rf /", "\\rm x", "r\\m x", "r''m x", "'rm' x", '"rm" x', 'r"m" x', "$'rm' x", "$'\\x72m' x",
    "$'r\\155' x", '$"rm" x', "/bin/rm x", "../../bin/rm x", "./rm x", "~/bin/rm x", "r\\\nm x", "\\\nrm x", "  rm x",
    "\trm\tx", "rm>f x", ">f rm x", "2>&1 rm x", "rm x <<< y", "X=1 rm x", "X=1 Y=$(ls) rm x", "rm$X; rm x",
    # joined with others
    "a && rm x", "a || rm x", "a; rm x", "a & rm x", "a | rm x", "a |& rm x", "a\nrm x", "a;rm x;b", "! rm x",
    "ls # rm\nrm x", "# c\nrm x", "ls 'a\nb'; rm x", "ls a#b; rm x", "ls \\#; rm x", "ls $#; rm x", "ls ${#X}; rm x",
    "ls <<E\n\"\nE\nrm x", "ls <<\\E\n$(x\nE\nrm x", "ls <<-E\n\tx\n\tE\nrm x", "ls <<E | rm x\nfoo\nE",
    "ls <<E && rm x\nE",
    # inside of others
    "$(rm x)", "`rm x`", "ls $(rm x)", 'ls "$(rm x)"', 'ls "`rm x`"', 'ls "${X:-$(rm x)}"', "ls ${X:-`rm x`}",
    "ls $(( $(rm x) ))", "ls $[ $(rm x) ]", "(( $(rm x) ))", "[[ $(rm x) ]]", "[ $(rm x) ]", "ls <(rm x)",
    "ls >(rm x)",
    "X=$(rm x)", "X=1 ls $(rm x)", "a=($(rm x))", "a[$(rm x)]=1", "declare X=$(rm x)", "export X=`rm x`",
    "ls > $(rm x)", "ls <<< $(rm x)", "ls <<E\n$(rm x)\nE", "ls <<E\n`rm x`\nE", "ls <<-E\n\t`rm x`\n\tE",
    "echo `echo \\`rm x\\``", 'echo "`echo \\`rm x\\``"', "echo $(echo $(echo $(rm x)))",
    # in blocks
    "(rm x)", "{ rm x; }", "if a; then rm x; fi", "if rm x; then a; fi", "if a; then b; elif rm x; then c; fi",
    "if a; then b; else rm x; fi", "while a; do rm x; done", "until rm x; do a; done", "for i in $(rm x); do a; done",
    "for i in 1; do rm $i; done", "for ((i=0;i<$(rm x);i++)); do a; done", "case x in x) rm x;; esac",
    "case $(rm x) in x) ;; esac", "select i in a; do rm x; done", "f() { rm x; }", "f() ( rm x )",
    "function f { rm x; }",
    "a() if b; then rm x; fi", "coproc rm x", "coproc N { rm x; }", "time { rm x; }", "{ { (rm x) } }",
    # started by others
    "env rm x", "env X=1 rm", "env -i -u Y X=1 rm x", "/usr/bin/env rm", "env -S 'rm x'", "nohup rm x", "nice rm x",
    "nice -n 5 rm x", "nice -5 rm x", "ionice -c 3 rm x", "timeout 5 rm x", "timeout -k 1 -s KILL 5s rm x",
    "time rm x",
    "time -p rm x", "stdbuf -oL rm x", "setsid -w rm x", "command rm x", "command -p rm x", "builtin command rm x",
    "exec rm x", "exec -a ls rm x", "sudo rm x", "sudo -u root -- rm x", "sudo -E X=1 rm x", "sudo -i rm x",
    "doas rm x",
    "xargs rm", "ls | xargs rm", "xargs -0 -n 1 rm -f", "xargs -I{} rm {}", "xargs sh -c 'rm x'",
    "find . -exec rm {} +",
    "find . -name x -execdir rm {} \\;", "find . -ok rm {} \\;", "find . -delete",
    "find . -exec sh -c 'rm $1' {} \\;",
    "busybox rm x", "toybox rm x", "ssh host rm x", "ssh -p 22 host 'a; rm x'", "parallel rm ::: x", "watch rm x",
    "watch -n 1 'rm x'", "flock f rm x", "su -c 'rm x'", "chroot / rm x", "nohup nice timeout 5 sudo env X=1 rm x",
    "bash -c 'rm x'", "sh -c 'a && rm x'", "bash -lc 'rm x'", "bash -euxc 'rm x'", "bash -o pipefail -c 'rm x'",
    "bash --norc -c 'rm x'", "/bin/sh -c \"rm x\"", "bash -c 'bash -c \"rm x\"'", "bash -c \"$(rm x)\"",
    "eval rm x", "eval 'rm x'", "eval 'a; ' 'rm x'", "eval \"r''m x\"", "trap 'rm x' EXIT", "alias a='rm x'",
    "git -c alias.x='!rm y' x", "git submodule foreach 'rm x'", "git bisect run rm x", "git rebase -x 'rm x' main",
    "bash <<E\nrm x\nE", "echo 'rm x' | sh", "let 'a[$(rm x)]=1'", "test -v 'a[$(rm x)]'",
    # run by what computes, expands or reads a line from elsewhere
    "ls \"$\\\n(rm x)\"", "[[ 'a[$(rm x)]' -eq 1 ]]", "[ -v 'a[$(rm x)]' ]",
    "for x in 'a[$(rm x)]'; do ls $((x)); done",
    "for x in 'a[$(rm x)]'; do [[ $x -eq 1 ]]; done", "for x in '$(rm x)'; do ls \"${x@P}\"; done", "((rm x))",
    "for x in 'a[$(rm x)]'; do ls ${y:x}; done", ". /dev/stdin <<< 'rm x'", "bash /dev/stdin <<< 'rm x'",
    "sh <(echo rm x)", "source <(echo rm x)", "jobs -x rm x", "ls <<'E'\n\\\nrm x\nE\n", "ls ${X:-<(rm x)}",
    ">f\\\ng rm x", ">out/f\\\ngit rm x",
    "for x in 'a[$(rm x)]'; do ls ${!x}; done", "for x in 'a[$(rm x)]'; do ls ${*:x}; done",
    "for x in 'a[$(rm x)]'; do ls ${PATH:0:x}; done", "for x in 'a[$(rm x)]'; do [[ 1 -eq x ]]; done",
    "for x in 'a[$(rm x)]'; do for ((i=0;i<x;i++)); do ls; done; done", ": 'a[$(rm x)]'; ls $((_))",
    "[[ 'a[$(rm x)]' =~ .* ]]; ls $((BASH_REMATCH))", "TZ='a[$(rm x)]'; ls $((TZ))",
    "ls ${X:-$((a[$(rm x)]))}", "f() { ls $(($1)); }; f 'a[$(rm x)]'", "bash -c 'ls $(($1))' _ 'a[$(rm x)]'",
    "bash -c 'ls \"${@@P}\"' _ '$(rm x)'", "for x in '-v a[$(rm x)]'; do [ $x ]; done",
    "for x in -v; do [ \"$x\" 'a[$(rm x)]' ]; done",
    "for x in '-va[$(rm x)]'; do printf \"$x\" y; done", "wait -n -p 'a[$(rm x)]'",
    "for x in -v; do for y in 'a[$(rm x)]'; do test \"$x\" \"$y\"; done; done",
    "ls; >f$1a[0]=$1 rm x", "ls >&'f$(rm x)'", "ls >& 'f`rm x`'",
    # read in other ways by other shells
    "sh -c '[[ -f x || rm == x ]]'", "dash -c \"ls \\$'\\\\'; rm x #'\"", "sh -c 'eval \"[\"\"[ a || rm x ]\"\"]\"'",
    "zsh -c '=rm x'", "zsh -c 'repeat 3 rm x'", "ksh -c 'rm x'",
    # a command, where the parser sees an expression
    "[ a || rm -f x ]", "[ a && rm -f x ]", "[ a | rm -f x ]", "[ a & rm -f x ]", "[ -f x\nrm -f y ]", "[ -f x \n rm ]",
    # started by more of them
    "ssh host -p 22 rm x", "ssh host -- rm x", "genv rm x", "gxargs rm", "gfind . -exec rm {} +", "bfs . -delete",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm x", "setarch x86_64 rm x", "linux32 rm x", "tmux new -d 'rm x'",
    "at now <<< 'rm x'", "run0 rm x", "ssh-agent rm x", "docker run -v .:/w image rm x", "npx rm x", "uv run rm x",
    "npm exec -- rm x", "uv run bash -c 'rm x'", "kubectl exec pod -- rm x", "fd -e py -x rm",
    "git submodule --quiet foreach 'rm x'", "git rebase -ix 'rm x' main", "git rebase --exe='rm x' main",
    "git difftool -yx 'rm x'", "git filter-branch --tree-filter 'rm x'", "git fetch --upload-pack='rm x' .",
    "git clone -u 'rm x' . y", "git config alias.x '! rm y' && git x", "git -C a bisect run rm x",
    "bash //dev/stdin <<< 'rm x'", ". ../../../dev/stdin <<< 'rm x'",
    # not understood, and the word is there
    "if rm", "rm (", "'rm x", "rm x $(", "{rm,x}", "a() rm x", "rm x\r\nls (", "while; rm x", "rm x )",
    "ls\u00a0; rm x",
    # written to a file that may not be changed
    "ls > secret/x", "ls >> /ws/secret/x", "ls &> ./secret/x", "ls 2> out/../secret/x", "ls >| secret/a/b",
    "> secret/x",
    "ls > 'sec'\"ret/x\"", "{ ls; } > secret/x", "echo x | (ls > secret/x)", "bash -c 'ls > secret/x'",
    # options in between
    "git push --force", "git push origin --force", "git -C x push origin main --force",
    "/usr/bin/git push a --force b",
]  # fmt: skip

ASKED = [
    "git push", "git push origin", "git -C x push", "git -c a.b=c push", "git status && git push", "\\git push",
    # nobody knows what it runs
    "$X foo", "${X} foo", "r$X foo", "$(ls) x", "`ls`", "r? x", "/bin/r* x", "r{m,} x", "X=git; $X status", "$1",
    '"$@"',
    "eval $X", "bash -c \"$X\"", "xargs $X", "env $X ls", "sudo $X ls", "find . -exec {} \\;", "git $X", "bash",
    "ls | bash",
    "bash -s", "bash -i", "export PATH=x; git status", "alias ls=x; ls", "hash -p /x git; git status", "set -- a; ls",
    "PATH=. git status", "X=1 git status", "env X=1 git status", "GIT_PAGER=x git log", "git -c core.pager=x log",
    "for PATH in /evil; do ls; done", "for http_proxy in x; do git status; done", "ls ${X:=y}", "ls ${PATH=y}", "((x))",
    "env -C x ./git", "LANGUAGE=x ls", "ls `\\\ngit status`", "ls 'a' <<< \"$\\\n(ls)\"", "sudo -u $X ls -l",
    "git --exec-path=x status", "enable -f x y", "read X", "printf -v X y", "unset PATH", "git push $X",
    "if", "'unclosed", "ls (", "ls | (", "a;;b)", "ls <<E\n$X\nE", "ls <<'E F'\nx", "git status\r\nls", "ls\u00a0x",
    "ls ${X:-<(ls)}", "E\n\\\n1", "ls > $X", "ls > \"$X/f\"", "cd x && ./git", "ls > secre?/x", "-2>&1",
    # not all of it is allowed
    "cat x", "git status; cat x", "git status | cat", "git log $(cat x)", "git log <(cat x)", "git log > x",
    "ls > ~/x",
    "./git status", "/tmp/git status", "sudo git status", "xargs git", "xargs ls", "find . -exec ls {} +", "npm run",
    "npm run test x", "npm run tests", "cd x && ls", "env", "ssh host ls", "bash x.sh", "python -c 'ls'",
    "ls & cat x", "docker run ls", "ls ${!X}", "ls $((X))", "ls ${PATH:X}", "[[ $X -eq 1 ]]", "[ $X ]",
    "ls $(( $(git show x) ))", "[[ $(git show x) -eq 1 ]]", "git config core.pager x", "git difftool -x ls",
    "ls > ~+/x", "ls > ~u/x", "ls > /proc/self/cwd/secret/x", "(cd secret; ls > x)", "ls 3<>secret/x >&3",
    "find a -execdir sh -c 'ls > x' \\;", "git submodule foreach 'ls > x'", "ls ${X@P}", "time -v ls", "!ls", "!'ls' x",
    "[ a < b ]; ls", "[ -v x ]; ls", "ls; [ a || ls -f x ]",
    "busybox ls", "echo x; ./run", "if git status; then cat x; fi", "f() { cat x; }; git status", "git.exe status",
]  # fmt: skip

ALLOWED = [
    "git status", "git log --oneline -5", "git", "ls", "ls -la 'a b' \"c\" d\\ e", "git status && ls", "git log | ls",
    "git status; ls\nls", "(git status)", "{ ls; }", "if ls; then git status; fi", "for i in a b; do ls $i; done",
    "git log $X", 'ls "$(git status)"', "ls `git status`", "ls <(git status)", "ls 2>/dev/null",
    "ls > /dev/null 2>&1",
    "ls < in", "ls > out/x", "ls >> ./out/a/b", "git log > out/log 2>&1", "npm run test", "'npm' run \"test\"",
    "LC_ALL=C git status", "NO_COLOR=1 ls", "env LC_ALL=C git status", "nohup git status", "timeout 5 git status",
    "nice -n 5 ls", "time ls", "bash -c 'git status && ls'", "command git status", "exec git status", "sudo ls -l",
    "true && ls", "[ -f x ] && ls", "[[ -f x && y == z ]] && ls", "test -f x || ls", ": ; ls", "! ls", "ls # rm x",
    "echo 'rm x'", 'echo "rm x"', "echo \\; rm", "echo rm", "echo \"a # b\"", "git --no-pager log",
    "git commit -m 'rm x'",
    "ls <<'E'\n$(rm x)\nE", "ls <<E\nrm x\nE", "set -euo pipefail; ls", "ls &",
    "case $1 in a) ls;; *) git status;; esac",
    "f() { ls; }; ls", "command -v git; ls", "ls {a,b} *.c ~/x", "eval 'ls'", "echo $((1 + 2))",
    "git -c color.ui=false diff", "ls ${X:0:3} ${X: -1} ${X:-a} ${@:2}", "[[ $# -eq 1 && ${#X} -gt 2 ]]; ls",
    "[ \"$X\" = y ]; ls", "[ -n \"$X\" ] && ls", "ls; [ \"$X\" ]", "[ $? -eq 0 ] || ls", "[ ! -f 'a b' -o x != y ]; ls",
    "test -d \"$X\" && ls", "ls $(( (1 + 2) * $# ))", "git config user.name x",
    "git config core.pager", "/usr/bin/time -v ls", "git rebase main", "git submodule update",
    "sh -c 'git status && ls $((1 + 1))'",
]  # fmt: skip


@pytest.mark.contract("X4")
@pytest.mark.parametrize("line", DENIED)
def test_a_denied_command_is_denied_wherever_it_stands(line: str) -> None:
    assert command(RULES, line).verdict == "deny"


@pytest.mark.contract("X4")
@pytest.mark.parametrize("line", ASKED)
def test_what_is_not_known_or_not_allowed_as_a_whole_is_asked_about(line: str) -> None:
    assert command(RULES, line).verdict == "ask"


@pytest.mark.contract("X4")
@pytest.mark.parametrize("line", ALLOWED)
def test_a_line_of_which_every_command_is_allowed_passes(line: str) -> None:
    assert command(RULES, line).verdict == "allow"


def test_the_table_is_a_table() -> None:
    lines = [*DENIED, *ASKED, *ALLOWED]
    assert len(lines) == len(set(lines)) > 300
