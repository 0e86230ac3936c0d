import type { AnyTool } from "../../agent/tool/Tool.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { numberFrom } from "../../internal/options/optionSchemas.ts";

const fiveMinutesMs = 5 * 60 * 1_000;
const tenKilobytes = 10 * 1_024;

const intervalSchema = strictOptions(() => ({ everyMs: numberFrom(0).optional() }));
const contextDeltaSchema = strictOptions(() => ({ bytes: numberFrom(0).optional() }));

/** Makes a checkpoint after each node. Priority: high. */
function afterNode(): CheckpointTrigger {
  return { name: "after_node", priority: "high", isDue: isAfterNode };
}

/** Returns whether {@link afterNode} is due. A custom trigger can have the same name, so that the name is no proof. */
export function isAfterNode({ kind }: TriggerMoment): boolean {
  return kind === "node_completed";
}

/** Makes a checkpoint after a subgraph, such as a sub-agent. Priority: high. */
function afterAgentCompletion(): CheckpointTrigger {
  return {
    name: "after_agent_completion",
    priority: "high",
    isDue: (moment) => moment.kind === "node_completed" && moment.left.length > 0,
  };
}

/** Makes a checkpoint before a tool that declares `dangerous: true`. Priority: critical. */
function beforeDangerousOperation(): CheckpointTrigger {
  return {
    name: "before_dangerous_operation",
    priority: "critical",
    isDue: (moment) => moment.kind === "tool_call_starting" && moment.tool.dangerous === true,
  };
}

/** Makes a checkpoint before a tool that declares `externalApi: true`. Priority: high. */
function beforeExternalApiCall(): CheckpointTrigger {
  return {
    name: "before_external_api_call",
    priority: "high",
    isDue: (moment) => moment.kind === "tool_call_starting" && moment.tool.externalApi === true,
  };
}

/** Makes a checkpoint after a tool that declares `modifiesFiles: true`, even if the tool failed. Priority: high. */
function afterFileModification(): CheckpointTrigger {
  return {
    name: "after_file_modification",
    priority: "high",
    isDue: (moment) => moment.kind === "tool_call_completed" && moment.tool.modifiesFiles === true,
  };
}

/** Makes a checkpoint when a node receives an answer from outside. Priority: high. */
function afterUserInteraction(): CheckpointTrigger {
  return { name: "after_user_interaction", priority: "high", isDue: ({ kind }) => kind === "request_answered" };
}

/**
 * Makes a checkpoint if enough time has passed since the last one and the state has changed: the next node, its input,
 * the progress, or any record. Checks the time only at events of the run. Priority: normal.
 *
 * @param options `everyMs`: milliseconds. Defaults to five minutes.
 */
function interval(options: { readonly everyMs?: number | undefined } = {}): CheckpointTrigger {
  checkSchema(intervalSchema, options, "options of triggers.interval()");
  const { everyMs = fiveMinutesMs } = options;
  const isDue = ({ elapsedMs, changed }: TriggerMoment) => {
    if (elapsedMs < everyMs) return false;
    return changed || "unchanged";
  };
  return { name: "interval", priority: "normal", isDue };
}

/**
 * Makes a checkpoint if the new data since the last checkpoint exceeds a limit. Priority: normal.
 *
 * @param options `bytes`: the limit. Defaults to 10 KB.
 */
function contextDelta(options: { readonly bytes?: number | undefined } = {}): CheckpointTrigger {
  checkSchema(contextDeltaSchema, options, "options of triggers.contextDelta()");
  const { bytes = tenKilobytes } = options;
  return { name: "context_delta", priority: "normal", isDue: ({ grownBytes }) => grownBytes > bytes };
}

/**
 * The built-in checkpoint triggers. Each entry is a function that creates a trigger.
 *
 * @example
 * ```ts
 * agent.install(Persistence, {
 *   storage,
 *   triggers: [triggers.interval({ everyMs: 60_000 }), triggers.beforeDangerousOperation()],
 * });
 * ```
 */
export const triggers = {
  afterNode,
  afterAgentCompletion,
  beforeDangerousOperation,
  beforeExternalApiCall,
  afterFileModification,
  afterUserInteraction,
  interval,
  contextDelta,
} as const;

/**
 * The importance of a checkpoint. `critical`: the operation starts only if the checkpoint is stored. `high`: the run
 * continues when the checkpoint is durable. `normal`: the run continues while the checkpoint is stored.
 */
export type TriggerPriority = "critical" | "high" | "normal";

/** Decides when checkpoints are made. You can implement it with an object. */
export interface CheckpointTrigger {
  /** The name, which is the `trigger` of its checkpoints. Must not be a name that events use, such as `run_started`. */
  readonly name: string;
  readonly priority: TriggerPriority;
  /**
   * Returns whether a checkpoint is due. `"unchanged"`: due, but the state has not changed since the last checkpoint.
   * The function must be fast. If it throws, a `trigger_failed` event is emitted and the checkpoint is made.
   */
  readonly isDue: (moment: TriggerMoment) => boolean | "unchanged";
}

/** A point in a run at which a checkpoint may be due. */
export type TriggerMoment = SinceCheckpoint &
  (
    | {
        readonly kind: "node_completed";
        readonly nodeId: string;
        /** Paths of the subgraphs that finished with the node, innermost first. */
        readonly left: readonly string[];
      }
    | {
        /** A tool is about to run, or has run. Not emitted for replayed calls. */
        readonly kind: "tool_call_starting" | "tool_call_completed";
        readonly nodeId: string;
        readonly tool: AnyTool;
        readonly input: unknown;
        /** True if the tool failed or has an unknown outcome. The call may have taken effect. */
        readonly failed?: true;
      }
    | {
        /** A node receives an answer from outside for the first time. */
        readonly kind: "request_answered";
        readonly nodeId: string;
        readonly requestId: string;
      }
  );

/** The changes since the last checkpoint, or since the run started in this process. */
export interface SinceCheckpoint {
  /** The elapsed milliseconds of the configured clock. */
  readonly elapsedMs: number;
  /** True if a new checkpoint would differ from the last one in its records, next node, input or progress. */
  readonly changed: boolean;
  /** The approximate number of new bytes, including the input of the next node. */
  readonly grownBytes: number;
}
