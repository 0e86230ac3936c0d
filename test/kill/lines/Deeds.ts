import { appendFileSync } from "node:fs";
import { join } from "node:path";

/** What the processes of a life did, in a file that each of them appends to. */
export class Deeds {
  readonly #path: string;
  readonly #dieAfter: string | undefined;

  /** @param dieAfter the process is killed right after the first line that begins so. */
  constructor(directory: string, dieAfter?: string) {
    this.#path = join(directory, "deeds");
    this.#dieAfter = dieAfter;
  }

  add(line: string): void {
    appendFileSync(this.#path, `${line}\n`);
    if (this.#dieAfter !== undefined && line.startsWith(this.#dieAfter)) process.kill(process.pid, "SIGKILL");
  }
}
