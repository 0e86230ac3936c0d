/** Something that happened outside the agent. */
export interface WorldEvent {
  readonly kind: "done" | "undone";
  /** The call that did it, also where it is undone. */
  readonly call: string;
  readonly item: string;
  /** How far the files were then. */
  readonly at: number;
}

/** The world that an agent acts on. What is done again by the same call changes nothing, and is noted. */
export class AgentWorld {
  readonly events: WorldEvent[];
  readonly #now: () => number;

  constructor(now: () => number, events: readonly WorldEvent[] = []) {
    this.#now = now;
    this.events = [...events];
  }

  do(call: string, item: string): void {
    this.events.push({ kind: "done", call, item, at: this.#now() });
  }

  /** Undoes what stands of an item; nothing, when it was undone before. */
  undo(item: string): void {
    const call = [...this.standing].findLast(([, name]) => name === item)?.[0];
    const before = this.events.findLast((event) => event.item === item)?.call ?? "";
    this.events.push({ kind: "undone", call: call ?? before, item, at: this.#now() });
  }

  /** What stands, by the call that did it. */
  get standing(): ReadonlyMap<string, string> {
    const standing = new Map<string, string>();
    for (const { kind, call, item } of this.events) {
      if (kind === "done") standing.set(call, item);
      else standing.delete(call);
    }
    return standing;
  }
}
