/** Where text goes: standard output or standard error. */
export interface TextSink {
  /** Resolves once more may be written. @throws ClosedOutputError when nobody reads standard output any more. */
  write(text: string): Promise<void>;
  /** Whether a person looks at it. */
  readonly isTerminal: boolean;
  /** The width of the terminal in characters. Absent: it is none. */
  readonly columns?: number | undefined;
}

/** A bar that shows how far something has come. */
export interface ProgressBar {
  /** @param done how much of the whole is done by now. */
  at(done: number, what?: string): void;
  end(): void;
}

/** What a command line runs in: a process, or a test in its place. */
export interface CommandIo {
  /** Data, and nothing else. */
  readonly out: TextSink;
  /** Everything else: questions, progress, warnings and errors. */
  readonly err: TextSink;
  /** Whether somebody can be asked. */
  readonly canAsk: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working directory. */
  readonly cwd: string;
  /** Milliseconds since 1970. */
  now(): number;
  /** The version of this package. */
  readonly version: string;
  /** Aborted when the person stops the command, which does not end the process from the first call on. */
  stopSignal(): AbortSignal;
  /** Whether the person has stopped the command. */
  readonly isStopped: boolean;
  /** Asks a question that is answered with yes or no. Only where somebody can be asked. */
  confirm(question: string): Promise<boolean>;
  /** Begins a bar, on standard error. Only where that is a terminal. */
  progress(title: string, whole: number): Promise<ProgressBar>;
  /** What code of the user prints goes to standard error from now on. */
  divertOutput(): void;
}
