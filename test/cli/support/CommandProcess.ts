import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** What a process left. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A command line in a process of its own, without a terminal. */
export class CommandProcess {
  readonly child: ChildProcess;
  out = "";
  err = "";
  readonly #closed: Promise<unknown>;
  readonly #waiting = new Set<() => void>();

  constructor(file: string, args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) {
    const { NODE_OPTIONS: _ofTests, ...own } = process.env;
    this.child = spawn(process.execPath, [file, ...args], {
      cwd,
      env: { ...own, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#closed = once(this.child, "close");
    this.child.stdout?.on("data", (bytes: Buffer) => this.#add("out", String(bytes)));
    this.child.stderr?.on("data", (bytes: Buffer) => this.#add("err", String(bytes)));
  }

  /** Resolves once standard output has a text. */
  async shows(text: string): Promise<void> {
    while (!this.out.includes(text)) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  async ended(): Promise<Ended> {
    await this.#closed;
    return { code: this.child.exitCode, out: this.out, err: this.err };
  }

  #add(name: "out" | "err", text: string): void {
    this[name] += text;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
