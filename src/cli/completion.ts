import type { CommonOptions, Session } from "./session/Session.ts";

/** The completion script of each shell. It asks `agent-persistence` for the words, so it never becomes outdated. */
const scripts = {
  bash: `_agent_persistence() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$(printf %q "$line")"); done \\
    < <(agent-persistence complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _agent_persistence agent-persistence
`,
  zsh: `#compdef agent-persistence
_agent_persistence() {
  local -a found
  found=(\${(f)"$(agent-persistence complete -- "\${(@)words[2,$CURRENT]}" 2>/dev/null)"})
  (( $#found )) && compadd -a found || _files
}
compdef _agent_persistence agent-persistence
`,
  fish: `complete -c agent-persistence -f -a '(agent-persistence complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
complete -c agent-persistence -n '__fish_seen_subcommand_from backup import init move restore; or __fish_prev_arg_in -a --agent --archive-keys --key --keys -o --out --prices --receipt --seals --since' -F
`,
};

export async function completion(
  { output }: Session,
  _options: CommonOptions,
  shell: keyof typeof scripts,
): Promise<void> {
  await output.text(scripts[shell].trimEnd());
}
