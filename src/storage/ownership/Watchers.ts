import { warn } from "../../internal/warn.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { LogWatch } from "../RecordLog.ts";

/** Who wants to know when an agent is given back by an owner of this process. */
export class Watchers {
  readonly #all = new Set<{ readonly onChange: () => void }>();

  async watch(onChange: () => void): Promise<LogWatch> {
    const watcher = { onChange };
    this.#all.add(watcher);
    return { close: async () => void this.#all.delete(watcher) };
  }

  /** Tells all of them. The failure of one is a process warning: the agent was given back anyway. */
  tell(): void {
    for (const { onChange } of this.#all)
      try {
        onChange();
      } catch (error) {
        warn("listener_failed", `What watches a log failed: ${reasonOf(error)}`);
      }
  }
}
