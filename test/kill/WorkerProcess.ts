import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { WorkerLine } from "./worker/WorkerLine.ts";
import type { WorkerStart } from "./worker/WorkerOptions.ts";

type Said<Kind extends WorkerLine["said"]> = Extract<WorkerLine, { readonly said: Kind }>;

const running = new Set<{ kill(): void }>();

/** Leaves no process behind when a test fails. */
export function killRunningWorkers(): void {
  for (const worker of running) worker.kill();
}

/** One real process of the worker. */
export class WorkerProcess<Options = WorkerStart> {
  readonly #child: ChildProcess;
  readonly #lines: WorkerLine[] = [];
  readonly #closed: Promise<void>;
  #heard: () => void = () => {};
  #isClosed = false;

  /**
   * @param program the bundled worker.
   * @param options what it is told, as JSON.
   */
  constructor(program: string, options: Options) {
    this.#child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ["ignore", "pipe", "inherit"] });
    this.#closed = this.#listen();
    running.add(this);
  }

  get processId(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves when the worker says this, or to `undefined` when it ended without. */
  async hear<Kind extends WorkerLine["said"]>(said: Kind): Promise<Said<Kind> | undefined> {
    for (;;) {
      const line = this.#lines.find((candidate): candidate is Said<Kind> => candidate.said === said);
      if (line !== undefined || this.#isClosed) return line;
      await new Promise<void>((resolve) => (this.#heard = resolve));
    }
  }

  /** Kills it, as the machine does: the process gets no chance to do anything about it. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Stops it in its tracks, as a machine that is suspended does. */
  suspend(): void {
    this.#child.kill("SIGSTOP");
  }

  /** Lets it go on: after a suspension, and where it stands still by itself. */
  continue(): void {
    this.#child.kill("SIGCONT");
  }

  /** Resolves when the process is gone and everything it said was heard. */
  async ended(): Promise<{ readonly killed: boolean; readonly exitCode: number | null }> {
    await this.#closed;
    return { killed: this.#child.signalCode === "SIGKILL", exitCode: this.#child.exitCode };
  }

  async #listen(): Promise<void> {
    const closed = once(this.#child, "close");
    const { stdout } = this.#child;
    if (stdout === null) throw new TypeError("The worker has no output to listen to.");
    for await (const text of createInterface({ input: stdout })) {
      this.#lines.push(WorkerLine.parse(JSON.parse(text)));
      this.#heard();
    }
    await closed;
    this.#isClosed = true;
    running.delete(this);
    this.#heard();
  }
}
