import type { ToolOutsideThreadError } from "../../../errors/integrationErrors.ts";
import type { ToolConfig } from "./GraphTool.ts";

/** The key in the `configurable` of a tool call under which the tool finds the id of the call. */
export const idempotencyKey = "idempotency_key";

export interface TaskPlace {
  readonly threadId: string;
  readonly task: string;
  readonly namespace: string;
  readonly checkpointId: string;
  readonly node: string;
  /** The object in which LangGraph keeps the state of a task during one run of the graph. */
  readonly scratchpad: object;
}

/** Returns the task from a LangGraph config, or the reason why calls with this config cannot be recorded. */
export function taskPlace(
  { configurable = {}, metadata = {} }: ToolConfig,
  checkpointer: object,
): TaskPlace | ToolOutsideThreadError["where"] {
  const task = configurable["__pregel_task_id"];
  const scratchpad = configurable["__pregel_scratchpad"];
  if (typeof task !== "string" || typeof scratchpad !== "object" || scratchpad === null) return "no_graph";
  if (configurable["__pregel_checkpointer"] !== checkpointer) return "other_checkpointer";
  const threadId = configurable["thread_id"];
  const checkpoints = Object(configurable["checkpoint_map"]) as Readonly<Record<string, unknown>>;
  const namespace = graphOf(textOf(configurable["checkpoint_ns"]), checkpoints);
  const checkpointId = checkpoints[namespace];
  if (typeof threadId !== "string" || typeof checkpointId !== "string") return "checkpoint_not_stored";
  return { threadId, task, namespace, checkpointId, node: textOf(metadata["langgraph_node"]), scratchpad };
}

/** Returns the namespace of the graph that runs a task. A task called by another task has the graph of that task. */
function graphOf(task: string, checkpoints: Readonly<Record<string, unknown>>): string {
  let namespace = namespaceAbove(task);
  while (namespace !== "" && checkpoints[namespaceAbove(namespace)] === checkpoints[namespace])
    namespace = namespaceAbove(namespace);
  return namespace;
}

/** Returns a namespace without its last part, which belongs to a task. */
function namespaceAbove(namespace: string): string {
  return namespace.slice(0, Math.max(0, namespace.lastIndexOf("|")));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** One execution of a node. */
interface TaskAttempt {
  /** The attempt number in this run of the graph, from 1. */
  readonly number: number;
  /** The ids of the calls in progress, which their tools received. */
  readonly open: Set<string>;
  /** The positions at which this execution has already made a call. */
  readonly used: Set<string>;
  /** Resolves when the positions of all earlier calls are known. */
  placed: Promise<unknown>;
}

export interface CallPlace {
  readonly attempt: TaskAttempt;
  readonly isFirst: boolean;
  /** The start of the positions of all calls in the same enclosing call. */
  readonly within: string;
  /** The enclosing call, the id that the caller gave this call, and the number of earlier calls with the same two. */
  readonly at: string;
}

interface CountedAttempt extends TaskAttempt {
  readonly counts: Map<string, number>;
}

/** Numbers the calls of tasks. If a node runs again, in any process, its calls are numbered from the start. */
export class TaskAttempts {
  readonly #attempts = new WeakMap<object, CountedAttempt>();

  take({ scratchpad }: TaskPlace, { configurable, executionInfo, toolCall }: ToolConfig): CallPlace {
    const known = this.#attempts.get(scratchpad);
    const number = executionInfo?.nodeAttempt ?? known?.number ?? 1;
    const attempt =
      known?.number === number
        ? known
        : {
            number,
            open: new Set<string>(),
            used: new Set<string>(),
            placed: Promise.resolve(),
            counts: new Map<string, number>(),
          };
    this.#attempts.set(scratchpad, attempt);
    const within = `${callIn(attempt, configurable)}/`;
    const asked = within + (toolCall?.id ?? "");
    const count = attempt.counts.get(asked) ?? 0;
    attempt.counts.set(asked, count + 1);
    return { attempt, isFirst: attempt !== known, within, at: `${asked}/${count}` };
  }
}

function callIn({ open }: TaskAttempt, configurable: ToolConfig["configurable"]): string {
  const key = configurable?.[idempotencyKey];
  return typeof key === "string" && open.has(key) ? key : "";
}
