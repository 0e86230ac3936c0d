import { forEachAtOnce } from "../../internal/together.ts";

/** The maximum number of files in a group, which limits the open files. Larger groups save few commits. */
const groupSize = 64;

/** The common phases of a group of actions. */
export class Phases {
  #active: number;
  #waiting: (() => void)[] = [];

  constructor(active: number) {
    this.#active = active;
  }

  /** Resolves when all other actions of the group have called this method too or have ended. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#startNext();
    });
  }

  end(): void {
    this.#active--;
    this.#startNext();
  }

  #startNext(): void {
    if (this.#waiting.length < this.#active) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** Calls an action for each item, in groups with common phases, so that the file system needs few commits. */
export async function inPhases<Item>(
  items: readonly Item[],
  action: (item: Item, phases: Phases) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length; at += groupSize) {
    const group = items.slice(at, at + groupSize);
    const phases = new Phases(group.length);
    await forEachAtOnce(group, groupSize, (item) => action(item, phases).finally(() => phases.end()));
  }
}
