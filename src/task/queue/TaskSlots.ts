import { AgentBusyError } from "../../errors/storageErrors.ts";
import type { OwnedLog, RecordLog } from "../../storage/RecordLog.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";

/**
 * Limits how many holders a name has in all processes of a storage. Each slot is an empty log, whose owner holds the
 * slot. So a slot has one holder at a time, and becomes free with the lease of a killed process.
 */
export class TaskSlots {
  readonly #log: RecordLog;

  constructor(log: RecordLog) {
    this.#log = log;
  }

  /**
   * Returns the id of a free slot without taking it, or `undefined` if all are held. A release would wake the workers
   * that wait for a slot, so workers must not take slots that they may not need.
   */
  async find(name: string, count: number): Promise<string | undefined> {
    const first = Math.floor(Math.random() * count);
    for (let at = 0; at < count; at++) {
      const id = `${name}-${(first + at) % count}`;
      if ((await this.#log.owner(id))?.state !== "alive") return id;
    }
    return undefined;
  }

  /** Takes a slot. Returns `undefined` if another process was faster. */
  async take(id: string): Promise<OwnedLog | undefined> {
    try {
      return await this.#log.open(id, processOwner());
    } catch (error) {
      if (!(error instanceof AgentBusyError)) throw error;
      return undefined;
    }
  }
}
