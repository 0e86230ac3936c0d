import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("worker.ts", import.meta.url));

/** A worker in a separate process. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  /**
   * @param args what the program is told.
   * @param hear is called with each line that the worker prints.
   */
  constructor(args: readonly string[], hear: (line: string) => void) {
    this.#child = spawn(process.execPath, ["--import", "tsx", program, ...args], {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    this.#ended = once(this.#child, "exit");
    if (this.#child.stdout) createInterface({ input: this.#child.stdout }).on("line", hear);
  }

  /** Kills the process as a crash does: it cannot clean up. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Asks the worker to stop, and waits until its process has ended. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
  }
}
