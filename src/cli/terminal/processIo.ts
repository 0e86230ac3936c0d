import { Writable } from "node:stream";
import { ClosedOutputError, type CommandIo, type TextSink } from "./CommandIo.ts";

export interface ProcessStreams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

export function processIo(version: string, { stdin, stdout, stderr }: ProcessStreams = process): CommandIo {
  const { env } = process;
  let stop: AbortController | undefined;
  const write = stdout.write.bind(stdout) as (bytes: Buffer, done: (error?: Error | null) => void) => boolean;
  return {
    out: sinkOf(stdout, (error) => (error.code === "EPIPE" ? new ClosedOutputError({ cause: error }) : error)),
    // Write errors are ignored, because messages are optional.
    err: sinkOf(stderr, () => undefined),
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    env,
    get cwd() {
      return process.cwd();
    },
    version,
    now: () => Date.now(),
    stopSignal() {
      if (stop === undefined) {
        stop = new AbortController();
        for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop?.abort());
      }
      return stop.signal;
    },
    get isStopped() {
      return stop?.signal.aborted === true;
    },
    async confirm(message) {
      const { confirm } = await import("@clack/prompts");
      // An empty answer means no.
      return (await confirm({ message, initialValue: false, input: stdin, output: stderr })) === true;
    },
    protocol() {
      this.divertOutput();
      const output = new Writable({ write: (bytes: Buffer, _encoding, done) => void write(bytes, done) });
      return { input: stdin, output };
    },
    divertOutput() {
      // The result is still written by `out`, which holds the original function.
      stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
    },
  };
}

/** @param failureOf maps a stream error to the error of a write. `undefined` ignores the error. */
function sinkOf(stream: NodeJS.WriteStream, failureOf: (error: NodeJS.ErrnoException) => Error | undefined): TextSink {
  const write = stream.write.bind(stream) as (text: string, done: (error?: Error | null) => void) => boolean;
  // The next write reports a closed stream.
  stream.on("error", () => {});
  return {
    isTerminal: stream.isTTY === true,
    // A terminal without a size has 0 columns.
    columns: (stream.isTTY && stream.columns) || undefined,
    write: (text) =>
      new Promise((resolve, reject) => {
        write(text, (error) => {
          const failure = error ? failureOf(error) : undefined;
          if (failure) reject(failure);
          else resolve();
        });
      }),
  };
}
