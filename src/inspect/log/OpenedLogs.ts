import { Mutex } from "../../internal/Mutex.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { AgentIndex } from "./AgentIndex.ts";
import { readIndex, readOn } from "./readIndex.ts";

/** The number of cached agents. */
const most = 2;

/** Caches the indexes of recently inspected agents, so that only new entries are read. */
export class OpenedLogs {
  readonly #log: RecordLog;
  readonly #known = new Map<string, AgentIndex>();
  // An index allows one reader at a time.
  readonly #turns = new Mutex();

  constructor(log: RecordLog) {
    this.#log = log;
  }

  async open(agentId: string): Promise<AgentIndex> {
    return this.#turns.runExclusive(async () => {
      const known = this.#known.get(agentId);
      this.#known.delete(agentId);
      const index = known && (await readOn(this.#log, known)) ? known : await readIndex(this.#log, agentId);
      this.#known.set(agentId, index);
      for (const oldest of [...this.#known.keys()].slice(0, -most)) this.#known.delete(oldest);
      return index;
    });
  }
}
