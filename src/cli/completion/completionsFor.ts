import type { Argument, Command, Option } from "commander";
import type { AgentStatus } from "../../inspect.ts";

interface Before {
  readonly command: Command;
  readonly given: readonly string[];
  /** The option that expects the next value. */
  readonly option: Option | undefined;
  readonly storage: string | undefined;
}

export type FindIds = (
  what: string,
  given: readonly string[],
  storage: string | undefined,
) => Promise<readonly string[]>;

/**
 * Returns the possible completions of the last word.
 *
 * @param words the words after the program name. The last one may be empty.
 */
export async function completionsFor(
  program: Command,
  words: readonly string[],
  ids: FindIds,
): Promise<readonly string[]> {
  const before = read(program, words.slice(0, -1));
  const last = words.at(-1) ?? "";
  return (await candidates(before, last, ids)).filter((word) => word.startsWith(last));
}

async function candidates(before: Before, last: string, ids: FindIds): Promise<readonly string[]> {
  const { command, given, option, storage } = before;
  if (option !== undefined) return option.argChoices ?? statusesOf(option);
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

/** The parser accepts any status, because `list` reports an invalid one with a better message. */
function statusesOf({ long }: Option): readonly string[] {
  return long === "--status" ? statuses : [];
}

const statuses: readonly AgentStatus[] = [
  "queued",
  "in_progress",
  "paused",
  "waiting",
  "completed",
  "failed",
  "cancelled",
  "moving",
  "moved",
  "copied",
  "unreadable",
];

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
    return { ...before, option: found?.required || found?.optional ? found : undefined };
  }
  const inner = command.commands.find((each) => each.name() === word);
  return inner === undefined ? { ...before, given: [...given, word] } : { ...before, command: inner };
}
