import { nextTurn } from "../../internal/nextTurn.ts";
import type { NewAgent, RecordLog } from "../../storage/RecordLog.ts";

/** The number of tasks that are stored in one call. */
export const storedTogether = 100;

interface Waiting extends NewAgent {
  readonly resolve: (created: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Stores the new tasks that are added in one turn of the event loop in one call of the storage. */
export class NewTasks {
  readonly #create: NonNullable<RecordLog["createMany"]>;
  #waiting: Waiting[] = [];

  /** @param create - stores up to {@link storedTogether} tasks. */
  constructor(create: NonNullable<RecordLog["createMany"]>) {
    this.#create = create;
  }

  /** Resolves to `false` if the id is in use or was used. */
  add(agent: NewAgent): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...agent, resolve, reject });
      if (this.#waiting.length === 1) void nextTurn().then(() => this.#store());
    });
  }

  async #store(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const first = new Map(waiting.toReversed().map((each) => [each.agentId, each]));
    const agents = [...first.values()];
    try {
      const created = await this.#create(agents);
      const ids = new Set(agents.filter((_agent, at) => created[at]));
      for (const each of waiting) each.resolve(ids.has(each));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}
