import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface ProgramCall {
  readonly file: string;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly input?: string | Uint8Array | undefined;
}

export interface ProgramEnd<Output> {
  /** As `execFile` reports it. */
  readonly error: { readonly message: string; readonly code?: unknown; readonly killed?: boolean } | null;
  readonly output: Output;
  readonly complaint: Output;
}

const key = Symbol.for("agent-persistence.test.starter");
const holder = globalThis as { [key]?: Starter };

/**
 * Starts programs from a small process. Linux copies the page tables of a process that starts another. In a test worker
 * of 400 MB this takes ten times as long as git itself.
 */
export class Starter {
  readonly #child: ChildProcess;
  readonly #requests: number;
  readonly #answers: number;
  readonly #ends = new Map<number, (end: ProgramEnd<Buffer>) => void>();
  #calls = 0;

  /** Returns the starter of this test worker. */
  static shared(): Starter {
    return (holder[key] ??= new Starter());
  }

  private constructor() {
    const folder = mkdtempSync(join(tmpdir(), "agent-persistence-starter-"));
    const pipes = [join(folder, "requests"), join(folder, "answers")] as const;
    execFileSync("mkfifo", pipes);
    const program = join(import.meta.dirname, "starterProcess.mjs");
    this.#child = spawn(process.execPath, [program, ...pipes], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      serialization: "advanced",
    });
    this.#answers = openSync(pipes[1], "r");
    this.#requests = openSync(pipes[0], "w");
    rmSync(folder, { recursive: true });
    this.#child.on("message", (answer: { readonly id: number } & ProgramEnd<Buffer>) => {
      this.#ends.get(answer.id)?.(answer);
      this.#ends.delete(answer.id);
      if (this.#ends.size === 0) this.#child.channel?.unref();
    });
    this.#child.unref();
    this.#child.channel?.unref();
  }

  /** Runs a program and calls back when it has ended. */
  run(call: ProgramCall, signal: AbortSignal | undefined, end: (end: ProgramEnd<Buffer>) => void): void {
    const id = ++this.#calls;
    const abort = () => this.#child.send({ id, aborts: true });
    this.#ends.set(id, (ended) => {
      signal?.removeEventListener("abort", abort);
      end(ended);
    });
    this.#child.channel?.ref();
    this.#child.send({ id, call });
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
  }

  /** Runs a program and waits until it has ended. */
  runSync(call: ProgramCall): ProgramEnd<string> {
    writeSync(this.#requests, `${JSON.stringify(call)}\n`);
    const parts: Buffer[] = [];
    do {
      const part = Buffer.alloc(65_536);
      const length = readSync(this.#answers, part);
      if (length === 0) throw new Error("The process that starts programs for the tests has ended.");
      parts.push(part.subarray(0, length));
    } while (parts.at(-1)?.at(-1) !== 10);
    return JSON.parse(Buffer.concat(parts).toString()) as ProgramEnd<string>;
  }
}
