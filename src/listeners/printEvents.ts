import type { ModelUsage } from "../checkpoint/tokenUsage/ModelUsage.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { functionSchema } from "../internal/options/optionSchemas.ts";
import { reasonOf } from "../internal/reasonOf.ts";
import type { EventCheckpoint, EventLine, PersistenceEvent, PersistenceListener } from "./PersistenceEvent.ts";

/**
 * Returns a listener that prints each event as one line for a terminal. Omits the values of messages and tools, and
 * replaces control characters with spaces.
 *
 * @param write receives a line without a line break.
 * @throws InvalidInputError if the argument is not a function.
 *
 * @example
 * ```ts
 * agent.install(Persistence, { storage, onEvent: printEvents((line) => console.log(line)) });
 * ```
 */
export function printEvents(write: (line: string) => void): PersistenceListener {
  checkSchema(functionSchema(), write, "argument of printEvents()");
  return (event) => write(printable(`${event.at} ${event.agentId}${lineOf(event)}: ${textOf(event)}`));
}

function lineOf(event: PersistenceEvent): string {
  const { agentPath = [], branch } = event as EventLine;
  return [...agentPath.map((name) => ` > ${name}`), ...(branch === undefined ? [] : [` ${branch}`])].join("");
}

function textOf(event: PersistenceEvent): string {
  switch (event.type) {
    case "checkpoint_saved":
      return `saved checkpoint ${event.checkpointId} (${event.trigger}), next ${placeOf(event)}`;
    case "checkpoint_skipped":
      return `no checkpoint for ${event.trigger} at ${event.nodeId}: ${event.reason}`;
    case "checkpoint_restored":
      return `${event.by} from checkpoint ${event.checkpointId}, next ${placeOf(event)}`;
    case "checkpoint_pruned":
      return `${event.dropped ? "dropped the agent with its" : "pruned"} ${event.checkpointIds.length} checkpoints, ${event.bytes} bytes`;
    case "status_changed":
      return `${event.previous === undefined ? "" : `${event.previous} → `}${event.status}`;
    case "recovery_step":
      return `recovery: ${event.step}${event.failed.length > 0 ? `, failed: ${event.failed.join(", ")}` : ""}`;
    case "recovery_notice":
      return `recovered ${event.task}, next ${placeOf(event)}`;
    case "history_trimmed":
      return `trimmed ${event.toolOutputs} tool outputs and ${event.messages} messages`;
    default:
      return nodeText(event);
  }
}

function nodeText(event: PersistenceEvent): string {
  if (event.type === "request_opened")
    return `waits for ${event.waitingFor} in ${event.nodeId}, request ${event.requestId}`;
  if (event.type === "model_retry")
    return `retries the model request in ${event.nodeId} after ${event.delayMs} ms: ${reasonOf(event.error)}`;
  if (event.type !== "model_answered") return failureOf(event);
  const { nodeId, finishReason, usage } = event;
  return `the model answered in ${nodeId}${finishReason === undefined ? "" : ` (${finishReason})`}${tokensOf(usage)}`;
}

function tokensOf({ inputTokens, outputTokens }: ModelUsage = {}): string {
  return inputTokens === undefined && outputTokens === undefined
    ? ""
    : `, ${inputTokens ?? "?"} tokens in, ${outputTokens ?? "?"} out`;
}

function failureOf(event: PersistenceEvent): string {
  if (event.type === "branch_failed") return `the branch failed in ${event.nodeId}: ${reasonOf(event.error)}`;
  if (event.type === "trigger_failed") return `trigger ${event.trigger} failed: ${event.reason}`;
  if ("error" in event) return `${event.type}: ${reasonOf(event.error)}`;
  return event.type;
}

function placeOf({ nodeId, iteration, progress, progressSummary }: EventCheckpoint): string {
  const percent = progress === undefined ? "" : `, ${progress} %`;
  const summary = progressSummary === undefined ? "" : `, ${progressSummary}`;
  return `${nodeId}, iteration ${iteration}${percent}${summary}`;
}

/** Replaces control characters and direction marks, because a model may have written ids and summaries. */
function printable(line: string): string {
  return line.replaceAll(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, " ");
}
