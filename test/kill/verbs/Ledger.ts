import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What happened outside, in order. */
export interface Deed {
  readonly what: "book" | "pay" | "undo" | "approve";
  readonly agentId: string;
  /** The id of the call; of an approval that of the request. */
  readonly id: string;
}

/** A file that the agent's storage knows nothing of. A line is there as a whole once it was written. */
export class Ledger {
  readonly #path: string;

  constructor(directory: string) {
    this.#path = join(directory, "ledger");
  }

  add({ what, agentId, id }: Deed): void {
    appendFileSync(this.#path, `${what} ${agentId} ${id}\n`);
  }

  /** Of the agent that did it. */
  undo(id: string): void {
    this.add({ what: "undo", agentId: this.deeds().find((deed) => deed.id === id)?.agentId ?? "nobody", id });
  }

  deeds(): readonly Deed[] {
    if (!existsSync(this.#path)) return [];
    const lines = readFileSync(this.#path, "utf8").trim().split("\n").filter(Boolean);
    return lines.map((line) => {
      const [what, agentId = "", id = ""] = line.split(" ");
      return { what: what as Deed["what"], agentId, id };
    });
  }

  /** Whether a call has its effect. */
  stands(id: string): boolean {
    const last = this.deeds().findLast((deed) => deed.id === id);
    return last !== undefined && last.what !== "undo";
  }
}
