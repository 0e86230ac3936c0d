import type { ToolConfig } from "./GraphTool.ts";
import type { TaskPlace } from "./TaskPlace.ts";

/** One execution of a node. */
export interface TaskAttempt {
  /** The attempt number in this run of the graph, from 1. */
  readonly number: number;
  /** The calls in progress, by the ids that their tools received. */
  readonly open: Set<string>;
}

export interface CallPlace {
  readonly attempt: TaskAttempt;
  /** `true` for the first call of the attempt. */
  readonly isFirst: boolean;
  /** The enclosing call, the caller's id of the call, and the number of earlier calls with the same values. */
  readonly at: string;
}

/** The key of the call id in the `configurable` of a tool. */
export const idempotencyKey = "idempotency_key";

/** Counts the calls of tasks. The counts restart when a node runs again, in any process. */
export class TaskAttempts {
  readonly #attempts = new WeakMap<object, TaskAttempt & { readonly counts: Map<string, number> }>();

  /** Assigns the position of a new call. */
  take({ scratchpad }: TaskPlace, { configurable, executionInfo, toolCall }: ToolConfig): CallPlace {
    const known = this.#attempts.get(scratchpad);
    const number = executionInfo?.nodeAttempt ?? known?.number ?? 1;
    const attempt = known?.number === number ? known : { number, open: new Set<string>(), counts: new Map() };
    this.#attempts.set(scratchpad, attempt);
    const asked = `${callIn(attempt, configurable)}/${toolCall?.id ?? ""}`;
    const count = attempt.counts.get(asked) ?? 0;
    attempt.counts.set(asked, count + 1);
    return { attempt, isFirst: attempt !== known, at: `${asked}/${count}` };
  }
}

function callIn({ open }: TaskAttempt, configurable: ToolConfig["configurable"]): string {
  const key = configurable?.[idempotencyKey];
  return typeof key === "string" && open.has(key) ? key : "";
}
