import { checkSchema } from "../../internal/options/checkSchema.ts";
import { numberFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { CheckpointTrigger, TriggerMoment } from "./CheckpointTrigger.ts";

const fiveMinutesMs = 5 * 60 * 1_000;
const tenKilobytes = 10 * 1_024;

const intervalSchema = strictOptions({ everyMs: numberFrom(0).optional() });
const contextDeltaSchema = strictOptions({ bytes: numberFrom(0).optional() });

/** After each node. High. */
function afterNode(): CheckpointTrigger {
  return { name: "after_node", priority: "high", isDue: isAfterNode };
}

/** When {@link afterNode} is due: this distinguishes it from a trigger that has only its name. */
export function isAfterNode({ kind }: TriggerMoment): boolean {
  return kind === "node_completed";
}

/** After a subgraph, such as a sub-agent, has ended. High. */
function afterAgentCompletion(): CheckpointTrigger {
  return {
    name: "after_agent_completion",
    priority: "high",
    isDue: (moment) => moment.kind === "node_completed" && moment.left.length > 0,
  };
}

/** Before a tool that declares `dangerous: true` runs. Critical. */
function beforeDangerousOperation(): CheckpointTrigger {
  return {
    name: "before_dangerous_operation",
    priority: "critical",
    isDue: (moment) => moment.kind === "tool_call_starting" && moment.tool.dangerous === true,
  };
}

/** Before a tool that declares `externalApi: true` runs. High. */
function beforeExternalApiCall(): CheckpointTrigger {
  return {
    name: "before_external_api_call",
    priority: "high",
    isDue: (moment) => moment.kind === "tool_call_starting" && moment.tool.externalApi === true,
  };
}

/** After a tool that declares `modifiesFiles: true` has run, also if it failed. High. */
function afterFileModification(): CheckpointTrigger {
  return {
    name: "after_file_modification",
    priority: "high",
    isDue: (moment) => moment.kind === "tool_call_completed" && moment.tool.modifiesFiles === true,
  };
}

/** When a node gets an answer from outside. High. */
function afterUserInteraction(): CheckpointTrigger {
  return { name: "after_user_interaction", priority: "high", isDue: ({ kind }) => kind === "request_answered" };
}

/**
 * When this much time has passed since the last checkpoint and the state has changed: the node that runs next, its input,
 * progress, or anything recorded. It looks at the time whenever
 * something happens in the run; no timer keeps a process alive. Normal.
 *
 * @param options `everyMs`: milliseconds; default five minutes.
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
 * When what there is to store has grown by more than this since the last checkpoint. Normal.
 *
 * @param options `bytes`: default 10 KB.
 */
function contextDelta(options: { readonly bytes?: number | undefined } = {}): CheckpointTrigger {
  checkSchema(contextDeltaSchema, options, "options of triggers.contextDelta()");
  const { bytes = tenKilobytes } = options;
  return { name: "context_delta", priority: "normal", isDue: ({ grownBytes }) => grownBytes > bytes };
}

/** The checkpoint triggers that the library ships, each a function that makes one: `triggers.interval({ everyMs })`. */
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
