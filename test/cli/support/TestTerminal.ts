import { PassThrough } from "node:stream";
import type { CommandIo, TextSink } from "../../../src/cli/terminal/CommandIo.ts";
import { main } from "../../../src/cli/main.ts";

/** What a test changes of where a command runs. */
export interface TerminalOptions {
  /** The width of a terminal. Absent: there is none. */
  readonly columns?: number;
  /** What is answered, question by question. Absent: nobody can be asked. */
  readonly answers?: readonly boolean[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly now?: number;
  /** Called with each text on standard output. */
  readonly onOut?: (text: string) => void;
  readonly stop?: AbortSignal;
  /** Standard input and output of a protocol. */
  readonly protocol?: ReturnType<CommandIo["protocol"]>;
}

/** What a command answered. */
export interface Answered {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** What was asked. */
  readonly shown: readonly string[];
}

/** Runs a command line in this process. */
export async function run(args: readonly string[], options: TerminalOptions = {}): Promise<Answered> {
  const written = { out: "", err: "" };
  const shown: string[] = [];
  const { columns, answers, env = {}, cwd = process.cwd(), now = Date.now(), onOut, stop } = options;
  const left = [...(answers ?? [])];
  const sink = (name: "out" | "err"): TextSink => ({
    isTerminal: columns !== undefined,
    columns,
    write: async (text) => {
      written[name] += text;
      if (name === "out") onOut?.(text);
    },
  });
  const io: CommandIo = {
    out: sink("out"),
    err: sink("err"),
    canAsk: answers !== undefined,
    env,
    cwd,
    version: "0.0.0",
    now: () => now,
    stopSignal: () => stop ?? new AbortController().signal,
    get isStopped() {
      return stop?.aborted === true;
    },
    async confirm(question) {
      shown.push(question);
      const answer = left.shift();
      if (answer === undefined) throw new Error(`Nobody expected the question ${question}`);
      return answer;
    },
    protocol: () => options.protocol ?? { input: new PassThrough(), output: new PassThrough() },
    divertOutput: () => {},
  };
  const code = await main(args, io);
  return { code, ...written, shown };
}

/** The one document that a command answered with. */
export function documentOf<Document>({ out }: Answered): Document {
  return JSON.parse(out) as Document;
}

/** The documents that a command answered with, a line each. */
export function itemsOf<Item>({ out }: Answered): readonly Item[] {
  return out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Item);
}

/** The texts that a command has shown one after the other on the line of its progress. */
export function progressOf(err: string): readonly string[] {
  const end = "\x1b[K";
  return err.split("\r").flatMap((text) => (text.endsWith(end) ? text.slice(0, -end.length) : []));
}
