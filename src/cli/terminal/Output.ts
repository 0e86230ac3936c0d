import { createColors } from "picocolors";
import type { CommandIo, TextSink } from "./CommandIo.ts";
import { jsonText } from "./jsonText.ts";
import { type Part, plain } from "./painted.ts";
import { relativeTime } from "./relativeTime.ts";
import type { Cell } from "./textTable.ts";
import { visibleLines, visibleText } from "./visibleText.ts";

/** How a command answers. */
export interface OutputOptions {
  /** For programs. */
  readonly json?: boolean | undefined;
  /** False: none. Absent: where the terminal and the environment allow it. */
  readonly color?: boolean | undefined;
}

/** Writes the answer of a command, for people or for programs. No text reaches a terminal with its control characters. */
export class Output {
  /** Whether programs read it. */
  readonly json: boolean;
  readonly io: CommandIo;
  readonly #options: OutputOptions;
  readonly #sink: TextSink;
  readonly #colors: ReturnType<typeof createColors>;

  /** @param to where it writes: the answer, or what is said beside it. */
  constructor(io: CommandIo, options: OutputOptions, to: "out" | "err" = "out") {
    this.io = io;
    this.json = options.json ?? false;
    this.#options = options;
    this.#sink = io[to];
    this.#colors = createColors(options.color !== false && mayColor(io, this.#sink));
  }

  /** What writes on standard error, for people: what is said beside the answer. */
  get beside(): Output {
    return new Output(this.io, this.#options, "err");
  }

  /** The one document of a command, for programs. */
  async document(value: unknown): Promise<void> {
    await this.#sink.write(`${jsonText(value, 2)}\n`);
  }

  /** One of many documents, each on its line, for programs. */
  async item(value: unknown): Promise<void> {
    await this.#sink.write(`${jsonText(value)}\n`);
  }

  /** A line for people. */
  async line(...parts: readonly Part[]): Promise<void> {
    await this.#sink.write(`${this.#written(parts)}\n`);
  }

  /** A text of several lines for people, such as that of a message. */
  async text(text: string, indent = ""): Promise<void> {
    const lines = visibleLines(text).split("\n");
    await this.#sink.write(lines.map((line) => `${indent}${line}\n`).join(""));
  }

  /** Aligned rows for people. */
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

  /** A line for people beside the answer, on standard error. Programs get none. */
  async note(...parts: readonly Part[]): Promise<void> {
    if (!this.json) await this.beside.line(...parts);
  }

  /** A time for people. @param time ISO 8601. */
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
