# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee completion`: tab completion in bash, zsh and fish."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from perigee_lab.common.errors import stop

# Each script calls `perigee completion SHELL -- WORDS…`, the words of the line up to the cursor, which
# prints a completion per line: name, tab, description; a line `:files` stands for files.
BASH = """# perigee completion bash > ~/.local/share/bash-completion/completions/perigee
_perigee() {
  local line IFS=$'\\n'
  COMPREPLY=()
  for line in $(perigee completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
    if [ "$line" = ":files" ]; then
      compopt -o filenames 2>/dev/null
      COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    else
      COMPREPLY+=("${line%%$'\\t'*}")
    fi
  done
}
complete -F _perigee perigee
"""
ZSH = """#compdef perigee
# perigee completion zsh > "${fpath[1]}/_perigee"
_perigee() {
  local line
  local -a found
  for line in "${(@f)$(perigee completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ "$line" == ":files" ]]; then
      _files
    elif [[ -n "$line" ]]; then
      found+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
    fi
  done
  (( ${#found} )) && _describe perigee found
}
if [ "$funcstack[1]" = "_perigee" ]; then _perigee "$@"; else compdef _perigee perigee; fi
"""
FISH = """# perigee completion fish > ~/.config/fish/completions/perigee.fish
function __perigee_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (perigee completion fish -- $words[2..-1] 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c perigee -f -a "(__perigee_complete)"
"""
SHELLS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
FILES = ":files"


def command(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", help="The shell.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Complete this line instead, as the script does.")
    ] = None,
) -> None:
    """Print the script of tab completion for a shell.

    For this session: source <(perigee completion bash). The script's first lines state where to install it.
    """
    if shell not in SHELLS:
        stop(f"no completion for {shell!r}: write one of {', '.join(SHELLS)}")
    if words is None:
        print(SHELLS[shell], end="")
        return
    root = context.find_root()
    for name, text in completions(root.command, root, words):
        print(f"{name}\t{text}" if text else name)


def completions(root: Any, ctx: Any, words: list[str]) -> list[tuple[str, str]]:
    """Names with descriptions that complete the last word; `FILES` where files do."""
    *before, last = words or [""]
    if before[:1] == ["help"]:
        return _names(root, ctx, before[1:], last)
    command, takes = root, None
    for word in before:
        if takes is not None:
            takes = None
        elif word.startswith("-"):
            takes = _option(command, word) if "=" not in word else None
        elif hasattr(command, "get_command"):
            command, ctx = _inner(command, ctx, word)
    if takes is not None:
        found = _values(takes, last)
    elif "--" in before:
        found = [(FILES, "")]
    elif last.startswith("-"):
        found = _options(command, last)
    elif hasattr(command, "get_command"):
        found = _names(command, ctx, [], last)
    else:
        found = _arguments(command, last)
    return found


class _Nothing:
    """What follows an unknown command: nothing completes it."""

    name, params, hidden = None, (), False


def _inner(command: Any, ctx: Any, word: str) -> tuple[Any, Any]:
    found = command.get_command(ctx, word)
    return (_Nothing(), ctx) if found is None else (found, type(ctx)(found, info_name=word, parent=ctx))


def _options(command: Any, last: str) -> list[tuple[str, str]]:
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    named = [(p, o) for p in options for o in (*p.opts, *p.secondary_opts)]
    rows = [*((o, _first(p.help)) for p, o in named), ("--help", "Show the help")]
    return [(o, text) for o, text in rows if o.startswith("--") and o.startswith(last)]


def _names(command: Any, ctx: Any, words: list[str], last: str) -> list[tuple[str, str]]:
    from perigee_lab.cli.help_texts import summary

    for word in words:
        command = command.get_command(ctx, word) if hasattr(command, "get_command") else None
    if not hasattr(command, "get_command"):
        return []
    names = [name for name in command.list_commands(ctx) if name.startswith(last)]
    return [(name, summary(c)) for name in names if (c := command.get_command(ctx, name)) is not None and not c.hidden]


def _option(command: Any, word: str) -> Any:
    """The option of that name if it takes a value."""
    found = next((p for p in command.params if word in getattr(p, "opts", ())), None)
    return None if found is None or getattr(found, "is_flag", False) else found


def _values(option: Any, last: str) -> list[tuple[str, str]]:
    words = str(option.metavar or "").split("|")
    if len(words) > 1 and any(w.islower() for w in words):
        return [(w, "") for w in words if w.islower() and w.startswith(last)]
    if "--cc" in option.opts:
        return _schemes(last) or [(FILES, "")]
    return [(FILES, "")] if _is_path(option) else []


def _arguments(command: Any, last: str) -> list[tuple[str, str]]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    if command.name == "schemes":
        return [*_schemes(last), (FILES, "")]
    if command.name == "columns":
        from perigee_lab.results.columns import COLUMNS

        return [(c.name, _first(c.meaning)) for c in COLUMNS if c.name.startswith(last)]
    if command.name == "completion":
        return [(s, "") for s in SHELLS if s.startswith(last)]
    return [(FILES, "")] if arguments else []


def _schemes(last: str) -> list[tuple[str, str]]:
    """Schemes that complete the last of several with commas between them."""
    import json

    from perigee_lab import _core

    before, comma, word = last.rpartition(",")
    return [
        (f"{before}{comma}{s['id']}", s["summary"]) for s in json.loads(_core.schemes()) if s["id"].startswith(word)
    ]


def _is_path(option: Any) -> bool:
    return str(option.metavar) in {"FILE", "PATH", "DIR", "FOLDER"} or "FILE" in str(option.metavar)


def _first(text: str | None) -> str:
    return " ".join((text or "").split()).partition(". ")[0].removesuffix(".")
