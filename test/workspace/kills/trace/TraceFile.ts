import { openSync, readFileSync, writeSync } from "node:fs";
import type { TraceLine } from "./TraceLine.ts";

/** The trace of one life, in a file that every process appends to. */
export class TraceFile {
  readonly #file: string;
  readonly #descriptor: number;

  constructor(file: string) {
    this.#file = file;
    this.#descriptor = openSync(file, "a");
  }

  /** One write, which a killed process has made or not. */
  add(line: TraceLine): void {
    writeSync(this.#descriptor, `${JSON.stringify(line)}\n`);
  }

  read(): readonly TraceLine[] {
    const lines = readFileSync(this.#file, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as TraceLine);
  }
}
