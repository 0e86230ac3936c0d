import type { WaitingFor } from "../../checkpoint/status/TaskStatus.ts";
import type { ModelUsage } from "../../checkpoint/tokenUsage/ModelUsage.ts";
import type { TornTail } from "../../checkpoint/records/Entry.ts";
import type { InputProblem } from "../../errors/agentErrors.ts";
import { askedQuestion } from "../context/InputRequest.ts";
import { runOf } from "./ContextBinding.ts";
import type { InputRequestEvent } from "./PipelineEvents.ts";

/**
 * The result of a run. A run that failed, was aborted, or was stopped by `tasks.pause` rejects instead. `paused` is
 * returned only by a custom `aroundRun` interceptor.
 */
export type RunResult<Output> = RunFacts &
  (
    | { readonly status: "completed"; readonly output: Output; readonly effects?: BranchEffects }
    | { readonly status: "waiting"; readonly requests: readonly PendingRequest[] }
    | { readonly status: "paused"; readonly reason: string }
  );

interface RunFacts {
  readonly runId: string;
  /** The tokens of all model requests of the run, in all processes. `undefined` if no provider reported tokens. */
  readonly usage?: ModelUsage;
  /**
   * An incomplete append at the end of the log, which this call skipped. A crash can leave one before the append is
   * acknowledged. Damage that truncates the log looks the same. `undefined` if the log was complete.
   */
  readonly tornTail?: TornTail;
}

/** A request that a run waits for. */
export type PendingRequest = PendingInput | PendingApproval | PendingTimer | PendingEvent;

interface RequestFacts {
  /** Identifies the request. Unique in the agent. Pass it when you answer. */
  readonly requestId: string;
  readonly nodeId: string;
  /** The branch of the parallel node that made the request, such as "both#facts". `undefined` outside branches. */
  readonly branch?: string;
  /** The tool names on the path to the sub-agent that made the request. Empty for the agent of the run. */
  readonly agentPath: readonly string[];
  /** The text that is shown to the person or system that answers. */
  readonly prompt: string;
  /** JSON Schema of the answer. */
  readonly schema: unknown;
  /** The kind of answer, from the `waitingFor` of the request. */
  readonly waitingFor: WaitingFor;
  /** When the request was first made, in ISO 8601. */
  readonly askedAt: string;
  /** When the request expires, in ISO 8601. `undefined` if never. */
  readonly expiresAt?: string;
  /** Why the last answer was not used: the schema rejected it, or it belonged to another request. */
  readonly problems?: readonly InputProblem[];
}

/** A request that a node made by `context.requestInput`. */
export interface PendingInput extends RequestFacts {
  readonly kind: "input";
}

/** A sleep of a node or a tool. Nobody can answer it, and it ends at `dueAt`. */
export interface PendingTimer extends RequestFacts {
  readonly kind: "timer";
  readonly waitingFor: "timer";
  /** When the sleep ends and the run can continue, in ISO 8601. */
  readonly dueAt: string;
  readonly expiresAt?: never;
}

/** A wait of a node or a tool for an event. Nobody can answer it. It ends after `send` or at `expiresAt`. */
export interface PendingEvent extends RequestFacts {
  readonly kind: "event";
  readonly waitingFor: "event";
  readonly eventName: string;
}

/** A tool call that needs an approval. The answer is `{ approved: true }`, or `{ approved: false, reason }`. */
export interface PendingApproval extends RequestFacts {
  readonly kind: "approval";
  readonly toolCallId: string;
  readonly toolName: string;
  /** The unparsed input of the call. After approval, the call is made with this input. */
  readonly input: unknown;
  /** The digest of the tool name and the input. Pass it to `answer`, so that you approve exactly this call. */
  readonly digest: string;
}

/**
 * Effects that do not match the history of the run. After a branch from an older checkpoint, `remaining` lists effects
 * of the abandoned history, and `missing` lists reverted effects of the kept history. For a run with `unfinished:
 * "abandon"`, `remaining` lists the effects that an unfinished rollback could not revert.
 */
export interface BranchEffects {
  readonly remaining: readonly RevertibleCall[];
  readonly missing: readonly RevertibleCall[];
}

/** A recorded tool call in the report of a rollback or a branch. */
export interface RevertibleCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** The input as the model or the caller wrote it. */
  readonly input: unknown;
  /** The output of the tool. `undefined` if no output is recorded. */
  readonly output: unknown;
  /** Why the recorded input or output cannot be read. The value itself is then `undefined`. */
  readonly unreadable?: unknown;
  /** The agent that made the call, if this agent is a fork of it. `undefined` if this agent made the call. */
  readonly owner?: string;
}

/** Returns an open request in the form of a run result. @param askedAt Milliseconds since 1970. */
export function pendingRequest(event: InputRequestEvent, askedAt: number): PendingRequest {
  const { requestId, nodeId, request, problems, approval, question, timer } = event;
  const { expiresAt } = request;
  const { branch, agentPath } = runOf(event.context);
  const facts = {
    requestId,
    nodeId,
    ...(branch !== undefined && { branch }),
    agentPath,
    ...askedQuestion(request),
    askedAt: new Date(askedAt).toISOString(),
    ...(problems && { problems }),
  };
  const expiry = expiresAt && { expiresAt: expiresAt.toISOString() };
  if (timer?.event) return { kind: "event", ...facts, ...expiry, waitingFor: "event", eventName: timer.event.name };
  if (timer) return { kind: "timer", ...facts, waitingFor: "timer", dueAt: new Date(timer.dueAt).toISOString() };
  if (!approval) return { kind: "input", ...facts, ...expiry };
  const { toolCallId, tool, input } = approval.call;
  return { kind: "approval", ...facts, ...expiry, toolCallId, toolName: tool.name, input, digest: question };
}
