/** What the command line exits with. docs/command-line.md lists the same. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  declined: 4,
  busy: 5,
  damaged: 6,
  stopped: 130,
} as const;

/** Why the command line ends. */
export type ExitReason = keyof typeof exitCodes;

/** Ends a command with a message for the person who called it. */
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
