import type { CommandIo, TextSink } from "./CommandIo.ts";

/** The streams of a process, or others in their place. */
export interface ProcessStreams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** The process as what a command line runs in. @param version of this package. */
export function processIo(version: string, { stdin, stdout, stderr }: ProcessStreams = process): CommandIo {
  const { env } = process;
  let stop: AbortController | undefined;
  return {
    out: sinkOf(stdout),
    err: sinkOf(stderr),
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    env,
    cwd: process.cwd(),
    version,
    now: () => Date.now(),
    stopSignal() {
      if (stop === undefined) {
        stop = new AbortController();
        for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop?.abort());
      }
      return stop.signal;
    },
    confirm: async (question) => (await import("./ask.ts")).ask(question, { input: stdin, output: stderr }),
    progress: async (title, whole) => (await import("./progressBar.ts")).progressBar(title, whole, stderr),
    divertOutput() {
      // What was asked for is written by `out`, which has the function of before.
      stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
    },
  };
}

function sinkOf(stream: NodeJS.WriteStream): TextSink {
  const write = stream.write.bind(stream) as (text: string, done: (error?: Error | null) => void) => boolean;
  // A reader that goes away is told to whoever writes next.
  stream.on("error", () => {});
  return {
    isTerminal: stream.isTTY === true,
    columns: stream.isTTY ? stream.columns : undefined,
    write: (text) =>
      new Promise((resolve, reject) => {
        write(text, (error) => (error ? reject(error) : resolve()));
      }),
  };
}
