import type { FileSystem, ProcessIdentity } from "agent-persistence/file";
import { HastyClock } from "../storage/file/support/TestClock.ts";

/** What a process has of its own: a clock, an identity and a way to the files. */
export interface ProcessOptions {
  readonly clock: HastyClock;
  readonly processIdentity: ProcessIdentity;
  readonly fileSystem: FileSystem;
  readonly directory: string;
  /** None: it would only add states that matter to nobody. */
  readonly reserveBytes: 0;
}

/** A process of a simulated machine. */
export interface SimulatedProcess extends ProcessOptions {
  /** The options of a file storage in this process. */
  readonly options: ProcessOptions;
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
    const options: ProcessOptions = {
      clock: new HastyClock(),
      processIdentity,
      fileSystem,
      directory: "/store",
      reserveBytes: 0,
    };
    return { ...options, options, end };
  }

  /** All processes end. */
  endAll(): void {
    this.#running.clear();
  }
}
