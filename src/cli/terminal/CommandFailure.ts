/** The exit codes, which docs/command-line.md documents. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  declined: 4,
  busy: 5,
  damaged: 6,
  differs: 7,
  stopped: 130,
} as const;

export type ExitReason = keyof typeof exitCodes;

/** Ends a command with a message for its user. */
export class CommandFailure extends Error {
  constructor(
    readonly reason: ExitReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "CommandFailure";
  }
}

/** Returns the only given choice. @throws CommandFailure for none or several */
export function onlyOf<Choice>(given: readonly Choice[], expected: string): Choice {
  const [choice, ...others] = given;
  if (choice === undefined || others.length > 0) throw new CommandFailure("usage", expected);
  return choice;
}

/** Parses a JSON argument. `what` is its name in messages. @throws CommandFailure */
export function jsonGiven(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const hint = "Text is JSON in quotes, such as '\"yes\"'";
    throw new CommandFailure("usage", `${what} is not JSON: ${(error as Error).message}. ${hint}.`, { cause: error });
  }
}
