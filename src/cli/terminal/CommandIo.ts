import type { Readable, Writable } from "node:stream";

export interface TextSink {
  /** Resolves when more can be written. @throws ClosedOutputError if the reader has closed standard output */
  write(text: string): Promise<void>;
  readonly isTerminal: boolean;
  /** The width of the terminal in characters. `undefined` without a terminal. */
  readonly columns?: number | undefined;
}

/** The environment of a command line: a process, or a replacement in tests. */
export interface CommandIo {
  /** For data only. */
  readonly out: TextSink;
  /** For questions, progress, warnings and errors. */
  readonly err: TextSink;
  readonly canAsk: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  now(): number;
  readonly version: string;
  /**
   * Returns a signal that aborts when the user stops the command. After this call, a stop does not exit the process.
   */
  stopSignal(): AbortSignal;
  readonly isStopped: boolean;
  /** Asks a yes-or-no question. Requires `canAsk`. */
  confirm(question: string): Promise<boolean>;
  /** Returns standard input and output for a protocol. After this call, all other output goes to standard error. */
  protocol(): { readonly input: Readable; readonly output: Writable };
  /** Redirects output of user code to standard error. */
  divertOutput(): void;
}

/** The reader has closed the output, as `head` does. */
export class ClosedOutputError extends Error {
  constructor(options?: ErrorOptions) {
    super("The reader has closed standard output.", options);
    this.name = "ClosedOutputError";
  }
}
