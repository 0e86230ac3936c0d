import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Said, type Order } from "./Message.ts";

/** A real process that contends for an agent. */
export class Contender {
  readonly #child: ChildProcess;
  readonly #said: Said[] = [];
  #heard: () => void = () => {};

  /** @param program the bundled contender. */
  constructor(program: string) {
    this.#child = fork(program);
    this.#child.on("message", (message) => {
      this.#said.push(Said.parse(message));
      this.#heard();
    });
    this.#child.once("exit", () => {
      this.#said.push({ said: "failed", message: "the process has ended" });
      this.#heard();
    });
  }

  get processId(): number | undefined {
    return this.#child.pid;
  }

  tell(order: Order): void {
    this.#child.send(order);
  }

  /** What it says next. */
  async hear(): Promise<Said> {
    for (;;) {
      const next = this.#said.shift();
      if (next !== undefined) return next;
      await new Promise<void>((resolve) => (this.#heard = resolve));
    }
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}
