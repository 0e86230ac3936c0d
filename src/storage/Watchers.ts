import { warn } from "../internal/warn.ts";
import { reasonOf } from "../internal/reasonOf.ts";
import type { LogWatch } from "./RecordLog.ts";

export class Watchers {
  readonly #all = new Set<{ readonly onChange: () => void }>();

  async watch(onChange: () => void): Promise<LogWatch> {
    const watcher = { onChange };
    this.#all.add(watcher);
    return { close: async () => void this.#all.delete(watcher) };
  }

  /** Calls all listeners. A failing listener causes a process warning, because the agent is already released. */
  tell(): void {
    for (const { onChange } of this.#all)
      try {
        onChange();
      } catch (error) {
        warn("listener_failed", `A listener of a log failed: ${reasonOf(error)}`);
      }
  }
}
