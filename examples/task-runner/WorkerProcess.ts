import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("worker.ts", import.meta.url));

/** A worker in a process of its own. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  /** @param hear gets each line that the worker says. */
  constructor(name: string, directory: string, hear: (line: string) => void) {
    this.#child = spawn(process.execPath, ["--import", "tsx", program, name, directory], {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    this.#ended = once(this.#child, "exit");
    if (this.#child.stdout) createInterface({ input: this.#child.stdout }).on("line", hear);
  }

  /** Kills it as a crash does: it gets no chance to do anything about it. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Lets it finish what it does, and waits for its end. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
  }
}
