import { openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { TraceLine } from "./TraceLine.ts";

/** The trace of one run, in a file that every process appends to. */
export class Trace {
  readonly #file: string;
  #descriptor: number | undefined;

  constructor(directory: string) {
    this.#file = join(directory, "trace.jsonl");
  }

  /** One write, which a killed process has made or not; begins with a line break, so that a torn one spoils no other. */
  add(line: TraceLine): void {
    this.#descriptor ??= openSync(this.#file, "a");
    writeSync(this.#descriptor, `\n${JSON.stringify(line)}`);
  }

  read(): readonly TraceLine[] {
    return readFileSync(this.#file, "utf8")
      .split("\n")
      .flatMap((text) => parse(text));
  }
}

/** A line that was torn by a kill did not happen: what it announces comes after it was written. */
function parse(text: string): readonly TraceLine[] {
  try {
    return [TraceLine.parse(JSON.parse(text))];
  } catch {
    return [];
  }
}
