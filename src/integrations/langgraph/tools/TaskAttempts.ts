import type { ToolConfig } from "./GraphTool.ts";
import type { TaskPlace } from "./TaskPlace.ts";

/** One run of a node. */
export interface TaskAttempt {
  /** Which one it is in this run of the graph, from 1. */
  readonly number: number;
  /** The calls that are being made, by the ids that their tools got. */
  readonly open: Set<string>;
}

/** A call, and where in its task it is made. */
export interface CallPlace {
  readonly attempt: TaskAttempt;
  /** True for the first call of the attempt. */
  readonly isFirst: boolean;
  /** The call within which it is made, the caller's id of it, and how many of these were made before. */
  readonly at: string;
}

/** The name of the id that a tool gets, in its `configurable`. */
export const idempotencyKey = "idempotency_key";

/** Counts the calls of tasks. A node that runs again, in this process or in another one, counts from the start. */
export class TaskAttempts {
  readonly #attempts = new WeakMap<object, TaskAttempt & { readonly counts: Map<string, number> }>();

  /** The place of a call that is being made. */
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

/** The call within which another one is made; empty: none. */
function callIn({ open }: TaskAttempt, configurable: ToolConfig["configurable"]): string {
  const key = configurable?.[idempotencyKey];
  return typeof key === "string" && open.has(key) ? key : "";
}
