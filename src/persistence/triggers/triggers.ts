import { checkSchema } from "../../internal/options/checkSchema.ts";
import { numberFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { CheckpointTrigger, TriggerMoment } from "./CheckpointTrigger.ts";

const fiveMinutesMs = 5 * 60 * 1_000;
const tenKilobytes = 10 * 1_024;

const intervalSchema = strictOptions(() => ({ everyMs: numberFrom(0).optional() }));
const contextDeltaSchema = strictOptions(() => ({ bytes: numberFrom(0).optional() }));

/** Makes a checkpoint after each node. Priority: high. */
function afterNode(): CheckpointTrigger {
  return { name: "after_node", priority: "high", isDue: isAfterNode };
}

/**
 * Returns whether {@link afterNode} is due. Code compares triggers with this function to recognize `afterNode`, because
 * a custom trigger can have the same name.
 */
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
 * the progress, or any record. Checks the time at each event of the run, without a timer. Priority: normal.
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
