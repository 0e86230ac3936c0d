import type { FileSystem, ProcessIdentity } from "agent-persistence/file";
import { HastyClock } from "../storage/file/support/TestClock.ts";

/** What a process has of its own: a clock, an identity and a way to the files. */
export interface SimulatedProcess {
  readonly clock: HastyClock;
  readonly processIdentity: ProcessIdentity;
  readonly fileSystem: FileSystem;
  readonly directory: string;
  /** The process ends without doing anything more. */
  end(): void;
}

let boots = 0;

/** A machine from one start to the next. */
export class Machine {
  readonly #bootId = `boot ${++boots}`;
  readonly #running = new Set<number>();
  #next = 1;

  start(fileSystem: FileSystem): SimulatedProcess {
    const processId = this.#next++;
    this.#running.add(processId);
    const processIdentity: ProcessIdentity = {
      host: "simulated",
      bootId: this.#bootId,
      pidNamespace: "one",
      processId,
      processStart: String(processId),
      isRunning: (id) => this.#running.has(id),
    };
    const end = () => void this.#running.delete(processId);
    return { clock: new HastyClock(), processIdentity, fileSystem, directory: "/store", end };
  }

  /** All processes end. */
  endAll(): void {
    this.#running.clear();
  }
}
