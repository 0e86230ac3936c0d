import { createColors } from "picocolors";
import type { CommandIo, TextSink } from "./CommandIo.ts";
import { jsonText, visibleLines, visibleText } from "./visibleText.ts";
import { type Part, plain } from "./painted.ts";
import { relativeTime } from "./shortTexts.ts";
import type { Cell } from "./textTable.ts";

export interface OutputOptions {
  readonly json?: boolean | undefined;
  /** `false` disables colors. Defaults to the capabilities of the terminal and the environment. */
  readonly color?: boolean | undefined;
}

/** Writes the output of a command for people or programs. Control characters in texts never reach a terminal. */
export class Output {
  /** Whether programs read the output. */
  readonly json: boolean;
  readonly io: CommandIo;
  readonly #options: OutputOptions;
  readonly #sink: TextSink;
  readonly #colors: ReturnType<typeof createColors>;

  /** @param to the stream: `out` for the result, `err` for messages */
  constructor(io: CommandIo, options: OutputOptions, to: "out" | "err" = "out") {
    this.io = io;
    this.json = options.json ?? false;
    this.#options = options;
    this.#sink = io[to];
    this.#colors = createColors(options.color !== false && mayColor(io, this.#sink));
  }

  /** The output on standard error, for messages to people. */
  get beside(): Output {
    return new Output(this.io, this.#options, "err");
  }

  /** Writes the only JSON document of a command. */
  async document(value: unknown): Promise<void> {
    await this.#sink.write(`${jsonText(value, 2)}\n`);
  }

  /** Writes one of many JSON documents, each on one line. */
  async item(value: unknown): Promise<void> {
    await this.#sink.write(`${jsonText(value)}\n`);
  }

  /** Writes a line for people. */
  async line(...parts: readonly Part[]): Promise<void> {
    await this.#sink.write(`${this.#written(parts)}\n`);
  }

  /** Writes the result of a command: a document for programs, or a line for people. */
  async result(document: unknown, ...parts: readonly Part[]): Promise<void> {
    await (this.json ? this.document(document) : this.line(...parts));
  }

  /** Writes a text of several lines for people, such as a message. */
  async text(text: string, indent = ""): Promise<void> {
    const lines = visibleLines(text).split("\n");
    await this.#sink.write(lines.map((line) => `${indent}${line}\n`).join(""));
  }

  /** Writes aligned rows for people. */
  async table(head: readonly string[], rows: readonly (readonly (Part | readonly Part[])[])[]): Promise<void> {
    const { textTable } = await import("./textTable.ts");
    const cell = (parts: Part | readonly Part[]): Cell =>
      [parts].flat().map((part: Part) => ({
        text: visibleText(plain(part)),
        write: typeof part === "string" ? String : this.#colors[part.paint],
      }));
    const titles = head.map((title) => cell({ text: title, paint: "dim" }));
    const table = textTable(
      titles,
      rows.map((row) => row.map(cell)),
      this.#sink.columns,
    );
    await this.#sink.write(`${table}\n`);
  }

  /** Writes a line for people to standard error. Skipped for programs. */
  async note(...parts: readonly Part[]): Promise<void> {
    if (!this.json) await this.beside.line(...parts);
  }

  /** Formats an ISO 8601 time for people. */
  ago(time: string | undefined): string {
    return time === undefined ? "–" : relativeTime(time, this.io.now());
  }

  #written(parts: readonly Part[]): string {
    return parts
      .map((part) => (typeof part === "string" ? visibleText(part) : this.#colors[part.paint](visibleText(part.text))))
      .join("");
  }
}

function mayColor({ env }: CommandIo, { isTerminal }: TextSink): boolean {
  return isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

type Tell = (what: string) => void;

/** Runs a long action and shows its progress on one line of a terminal. Reads no keys, so Ctrl-C stops the command. */
export async function withProgress<Result>(
  { io: { err, env }, json }: Pick<Output, "io" | "json">,
  title: string,
  action: (tell: Tell) => Promise<Result>,
): Promise<Result> {
  if (json || !err.isTerminal || env["TERM"] === "dumb") return action(() => {});
  const { beginning } = await import("./textTable.ts");
  let isWriting = false;
  const show = async (text: string): Promise<void> => {
    if (isWriting) return;
    isWriting = true;
    await err.write(`\r${beginning(visibleText(text), (err.columns || 80) - 1)}${clearRest}`);
    isWriting = false;
  };
  void show(title);
  try {
    return await action((what) => void show(`${title}: ${what}`));
  } finally {
    await err.write(`\r${clearRest}`);
  }
}

const clearRest = "\x1b[K";

/** Passes bytes on and reports their number. */
export async function* counting(
  parts: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const part of parts) {
    onBytes((bytes += part.length));
    yield part;
  }
}
