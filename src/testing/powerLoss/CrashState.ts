import type { SimulatedFileSystem } from "./SimulatedFileSystem.ts";
import type { CrashModel } from "./CrashModel.ts";

/** A state that a crash may leave. */
export interface CrashState {
  readonly model: CrashModel;
  /** How many changes and syncs came before the crash. */
  readonly after: number;
  /** What the crash undid, for people. */
  readonly description: string;
  /**
   * What the next process finds; another one each time. After a loss of power all of it is durable and `position` is 0.
   * After a kill `position` goes on, and what was not synced before still is not.
   */
  restart(): SimulatedFileSystem;
}
