import type { WaitingFor } from "../checkpoint/status/WaitingFor.ts";

/** How a run ended. A failed or aborted run rejects instead. `waiting` and `paused` are results of features to come. */
export type RunResult<Output> =
  | { readonly status: "completed"; readonly runId: string; readonly output: Output; readonly effects?: BranchEffects }
  | { readonly status: "waiting"; readonly runId: string; readonly requests: readonly PendingRequest[] }
  | { readonly status: "paused"; readonly runId: string; readonly reason: string };

/** Something a run asked of a person. Nothing in this version asks. */
export type PendingRequest =
  | {
      readonly kind: "input";
      readonly requestId: string;
      readonly nodeId: string;
      readonly prompt: string;
      /** JSON schema of the answer. */
      readonly schema: unknown;
      readonly waitingFor: WaitingFor;
    }
  | {
      readonly kind: "approval";
      readonly requestId: string;
      readonly nodeId: string;
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: unknown;
      /** Binds the approval to exactly this call. */
      readonly digest: string;
    };

/** On a branch from an older checkpoint: which effects of the line it left still stand, and which of its own are gone. */
export interface BranchEffects {
  readonly remaining: readonly RevertibleCall[];
  readonly missing: readonly RevertibleCall[];
}

/** A recorded tool call, as reports of rollbacks and branches show it. `output` is `undefined` where none is recorded. */
export interface RevertibleCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly output: unknown;
}
