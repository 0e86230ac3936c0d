import type { WaitingFor } from "../../checkpoint/status/TaskStatus.ts";
import type { InputProblem } from "../../errors/agent/InvalidInputError.ts";
import type { InputRequestEvent } from "./PipelineEvents.ts";
import { toJSONSchema } from "zod";

/**
 * How a run ended. A failed or aborted run rejects instead, and so does one that `tasks.pause` stopped. Nothing in this
 * library ends a run as `paused`; an interceptor of yours may, by `aroundRun`.
 */
export type RunResult<Output> =
  | { readonly status: "completed"; readonly runId: string; readonly output: Output; readonly effects?: BranchEffects }
  | { readonly status: "waiting"; readonly runId: string; readonly requests: readonly PendingRequest[] }
  | { readonly status: "paused"; readonly runId: string; readonly reason: string };

/** Something a run asked of somebody outside and waits for. Nothing in this library asks for approvals. */
export type PendingRequest = PendingInput | PendingApproval;

/** What a node asked for by `context.requestInput`. */
export interface PendingInput {
  readonly kind: "input";
  /** Names it to whoever answers; unique in the agent. */
  readonly requestId: string;
  readonly nodeId: string;
  /** What whoever answers is asked. */
  readonly prompt: string;
  /** JSON Schema of the answer. */
  readonly schema: unknown;
  /** What kind of answer that is: the request's `waitingFor`. */
  readonly waitingFor: WaitingFor;
  /** ISO 8601; when it ends without an answer. Absent: never. */
  readonly expiresAt?: string;
  /** Why the node did not take the last answer, where its own schema is stricter than JSON Schema can say. Absent: none was refused. */
  readonly problems?: readonly InputProblem[];
}

/** A tool call that somebody has to allow. */
export interface PendingApproval {
  readonly kind: "approval";
  readonly requestId: string;
  readonly nodeId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  /** Binds the approval to exactly this call. */
  readonly digest: string;
}

/** On a branch from an older checkpoint: which effects of the line it left still stand, and which of its own are gone. */
export interface BranchEffects {
  readonly remaining: readonly RevertibleCall[];
  readonly missing: readonly RevertibleCall[];
}

/** A recorded tool call, as reports of rollbacks and branches show it. */
export interface RevertibleCall {
  /** The library's id of the call. */
  readonly toolCallId: string;
  /** The name of its tool. */
  readonly toolName: string;
  /** As the model or the caller wrote it. */
  readonly input: unknown;
  /** What the tool returned; `undefined` where none is recorded. */
  readonly output: unknown;
}

/** An open request as the result of a run lists it. */
export function pendingRequest({ requestId, nodeId, request, problems }: InputRequestEvent): PendingInput {
  const { prompt, schema, waitingFor = "user_input", expiresAt } = request;
  return {
    kind: "input",
    requestId,
    nodeId,
    prompt,
    schema: toJSONSchema(schema, { unrepresentable: "any", io: "input" }),
    waitingFor,
    ...(problems && { problems }),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
  };
}
