import type { Command, Argument, Option } from "commander";
import { inspect } from "../inspect.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { findAgent } from "./ids/findLog.ts";
import { newestCheckpoints } from "./ids/findCheckpointId.ts";
import { type CommonOptions, Session } from "./session/Session.ts";
import { visibleText } from "./terminal/visibleText.ts";

const mostIds = 200;

/**
 * `complete -- <words>`: prints completions for a shell. Prints no errors, because shells hide errors of completions.
 */
export function completeFor(program: Command) {
  return async ({ io, output }: Session, _options: CommonOptions, words: readonly string[]): Promise<void> => {
    const found = await completionsFor(program, words, async (what, given, storage) => {
      try {
        await using session = new Session(io, { storage });
        return await idsOf(await session.storage(), what, given);
      } catch {
        return [];
      }
    });
    // Words with control characters could affect the terminal.
    for (const word of found) if (visibleText(word) === word) await output.line(word);
  };
}

async function idsOf(
  storage: PersistenceStorageProvider,
  what: string,
  [given]: readonly string[],
): Promise<readonly string[]> {
  const view = inspect(storage);
  const ids: string[] = [];
  if (what === "agent" || what === "task" || what === "other") {
    for await (const { agentId } of view.agents({ limit: mostIds })) ids.push(agentId);
  } else if (["checkpoint", "from", "to"].includes(what) && given !== undefined) {
    const { checkpoints } = await newestCheckpoints(view, await findAgent(storage, given), mostIds);
    ids.push(
      ...checkpoints.flatMap(({ checkpointId, name }) => (name === undefined ? checkpointId : [checkpointId, name])),
    );
  }
  return ids;
}

interface Before {
  readonly command: Command;
  readonly given: readonly string[];
  /** The option whose value is the next word. */
  readonly option: Option | undefined;
  readonly storage: string | undefined;
}

type FindIds = (what: string, given: readonly string[], storage: string | undefined) => Promise<readonly string[]>;

/** Returns the possible completions of the last word. @param words the words after the program name. */
async function completionsFor(program: Command, words: readonly string[], ids: FindIds): Promise<readonly string[]> {
  const before = read(program, words.slice(0, -1));
  const last = words.at(-1) ?? "";
  return (await candidates(before, last, ids)).filter((word) => word.startsWith(last));
}

async function candidates(before: Before, last: string, ids: FindIds): Promise<readonly string[]> {
  const { command, given, option, storage } = before;
  if (option !== undefined) return option.argChoices ?? [];
  if (last.startsWith("-")) return [...command.options.flatMap(({ long }) => long ?? []), "--help"];
  if (command.commands.length > 0)
    return command
      .createHelp()
      .visibleCommands(command)
      .map((each) => each.name());
  const argument = argumentAt(command, given.length);
  if (argument === undefined) return [];
  return argument.argChoices ?? ids(argument.name(), given, storage);
}

function argumentAt({ registeredArguments }: Command, place: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[place] ?? (last?.variadic ? last : undefined);
}

function read(program: Command, words: readonly string[]): Before {
  let before: Before = { command: program, given: [], option: undefined, storage: undefined };
  for (const word of words) before = withWord(before, word);
  return before;
}

function withWord(before: Before, word: string): Before {
  const { command, given, option } = before;
  if (option !== undefined) {
    const storage = option.long === "--storage" ? word : before.storage;
    return { ...before, storage, option: undefined };
  }
  if (word.startsWith("-")) {
    const found = command.options.find(({ long, short }) => word === long || word === short);
    if (word.startsWith("--storage=")) return { ...before, storage: word.slice("--storage=".length) };
    return { ...before, option: found?.required || found?.optional ? found : undefined };
  }
  const inner = command.commands.find((each) => each.name() === word);
  return inner === undefined ? { ...before, given: [...given, word] } : { ...before, command: inner };
}

/** The completion script of each shell, which asks `agent-persistence` for the words. */
const scripts = {
  // Bash divides words at colons and equals signs, and replaces only the last part.
  bash: `_agent_persistence() {
  local words word prefix="" line="\${COMP_LINE:0:COMP_POINT}" breaks="\${COMP_WORDBREAKS//[^:=]}"
  IFS=$' \\t' read -a words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word="\${words[\${#words[@]} - 1]}"
  [[ $breaks ]] && prefix="\${word%"\${word##*[$breaks]}"}"
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$(printf %q "\${line#"$prefix"}")"); done \\
    < <(agent-persistence complete -- "\${words[@]:1}" 2>/dev/null)
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
