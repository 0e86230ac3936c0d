import type { WaitingFor } from "../../checkpoint/status/TaskStatus.ts";
import type { ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import type { TornTail } from "../../checkpoint/format/TornTail.ts";
import type { InputProblem } from "../../errors/agent/InvalidInputError.ts";
import { askedQuestion } from "../context/askedQuestion.ts";
import { runOf } from "./ContextBinding.ts";
import type { InputRequestEvent } from "./PipelineEvents.ts";

/**
 * How a run ended. A run that failed, was aborted, or was stopped by `tasks.pause` rejects instead. `paused` comes only
 * from an interceptor of yours that is registered with `aroundRun`.
 */
export type RunResult<Output> = RunFacts &
  (
    | { readonly status: "completed"; readonly output: Output; readonly effects?: BranchEffects }
    | { readonly status: "waiting"; readonly requests: readonly PendingRequest[] }
    | { readonly status: "paused"; readonly reason: string }
  );

/** What every result of a run says. */
interface RunFacts {
  readonly runId: string;
  /** The tokens of all model requests of the run, over all processes. Absent: no provider reported any. */
  readonly usage?: ModelUsage;
  /**
   * The beginning of an append at the end of the log, which this call of `run` or `resume` found and skipped. After a
   * crash that append was never acknowledged; damage that cut the log looks the same. Absent: nothing was skipped.
   */
  readonly tornTail?: TornTail;
}

/** A request that a run waits for. */
export type PendingRequest = PendingInput | PendingApproval;

/** What every request says. */
interface RequestFacts {
  /** Identifies the request when you answer it; unique in the agent. */
  readonly requestId: string;
  readonly nodeId: string;
  /** The branch of a parallel node that asks, such as "both#facts". Absent: it is not asked in a branch. */
  readonly branch?: string;
  /** The names of the tools by which agents called each other down to the one that asks. Empty: the agent itself asks. */
  readonly agentPath: readonly string[];
  /** Shown to the person or system that answers. */
  readonly prompt: string;
  /** JSON Schema of the answer. */
  readonly schema: unknown;
  /** The kind of answer: the request's `waitingFor`. */
  readonly waitingFor: WaitingFor;
  /** When it was first asked, in ISO 8601. */
  readonly askedAt: string;
  /** When the request expires, in ISO 8601. Absent: never. */
  readonly expiresAt?: string;
  /** Why the last answer was not used: the node's own schema refused it, or it was to another question. Absent: there was none. */
  readonly problems?: readonly InputProblem[];
}

/** A request that a node made by `context.requestInput`. */
export interface PendingInput extends RequestFacts {
  readonly kind: "input";
}

/** A tool call that needs an approval. The answer is `{ approved: true }`, or `{ approved: false, reason }`. */
export interface PendingApproval extends RequestFacts {
  readonly kind: "approval";
  readonly toolCallId: string;
  readonly toolName: string;
  /** As it was written: the call that is made once it is approved. */
  readonly input: unknown;
  /** Binds the approval to exactly this call. Pass it to `answer`. */
  readonly digest: string;
}

/**
 * On a branch from an older checkpoint: which effects of the line it left remain, and which of its own were reverted. On a
 * run with `unfinished: "abandon"`: which effects a rollback that it found open could not revert.
 */
export interface BranchEffects {
  readonly remaining: readonly RevertibleCall[];
  readonly missing: readonly RevertibleCall[];
}

/** A recorded tool call in the report of a rollback or a branch. */
export interface RevertibleCall {
  /** The library's id of the call. */
  readonly toolCallId: string;
  /** The name of its tool. */
  readonly toolName: string;
  /** As the model or the caller wrote it. */
  readonly input: unknown;
  /** What the tool returned; `undefined` if no output is recorded. */
  readonly output: unknown;
  /** Why the recorded input or output cannot be read; that one is `undefined` then. Absent: both were read. */
  readonly unreadable?: unknown;
  /** The agent that made it, if that is another one, of which this agent is a fork. Absent: this agent made it. */
  readonly owner?: string;
}

/** An open request as the result of a run lists it. @param askedAt milliseconds since 1970. */
export function pendingRequest(event: InputRequestEvent, askedAt: number): PendingRequest {
  const { requestId, nodeId, request, problems, approval, question } = event;
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
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
  };
  if (!approval) return { kind: "input", ...facts };
  const { toolCallId, tool, input } = approval.call;
  return { kind: "approval", ...facts, toolCallId, toolName: tool.name, input, digest: question };
}
