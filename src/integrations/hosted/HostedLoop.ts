import type { HostedModel, RequestPlace } from "../../agent/node/hostedCalls.ts";
import type { PromptAnswer } from "../../agent/model/PromptExecutor.ts";
import type { HostedPieces, ResponsePieces } from "./HostedPieces.ts";
import type { HostedTool } from "./HostedTool.ts";

/** Connects the loop of another runtime to its run. A resume starts the loop again with the recorded results. */
export interface HostedLoop {
  readonly agentId: string;
  readonly runId: string;
  /** Aborts when the run is cancelled or aborted, or when another process takes over the agent. */
  readonly signal: AbortSignal;
  /** `true` once the loop has requested a response or call that is not recorded. */
  readonly live: boolean;
  /** The error that ended the run, even if the other runtime converted it. Later requests reject with this error. */
  readonly failure: { readonly error: unknown } | undefined;
  /**
   * Returns the next recorded response. If all recorded responses are returned, calls `perform` and records its
   * response. A response inside a tool call belongs to that call. Errors of `perform` are not recorded.
   *
   * @param asked - the model, for telemetry.
   */
  answer(perform: (place: HostedPlace) => Promise<HostedResponse>, asked?: HostedModel): Promise<GivenHostedResponse>;
  /** The texts of the next response while another process receives it. `undefined` for a loop that runs itself. */
  nextPieces?(): HostedPieces | undefined;
  /**
   * Makes a tool call of a response, or returns its recorded outcome. Waits while the response is incomplete.
   *
   * @throws ToolFailedError, ToolOutcomeUnknownError for the model. Any other error ends the run.
   */
  call(toolCallId: string, call: HostedCall): Promise<unknown>;
  /**
   * Makes a call that code requests, for example to read a value. A replay identifies the calls of code by their order.
   *
   * @throws the error of `perform`, which ends the run and is not recorded
   */
  step(call: HostedCall): Promise<unknown>;
  /**
   * Waits until the calls are approved. Call this when the loop of the other runtime stops for approvals. If an
   * approval is missing, the run ends as waiting, and the promise never settles.
   */
  approvals(calls: readonly ApprovableCall[]): Promise<readonly HostedApproval[]>;
  /** Resolves when all records so far are durable. */
  durable(): Promise<void>;
}

/** Where a response is requested. `pieces` shows the response to other processes, and is omitted if none sees it. */
export interface HostedPlace extends RequestPlace {
  readonly pieces?: ResponsePieces | undefined;
}

/**
 * A model response in a form that the log can show and the other runtime can restore. The parts of its message possibly
 * have further fields, and its tool calls have the provider's ids.
 */
export interface HostedResponse extends PromptAnswer {
  /** More data of the other runtime: any serializable value. Never contains headers or bodies. */
  readonly opaque?: unknown;
}

/** A response whose tool calls have the library's ids. */
export interface GivenHostedResponse extends HostedResponse {
  readonly replayed: boolean;
}

export interface HostedCall {
  readonly tool: HostedTool;
  readonly input: unknown;
  readonly perform: (options: PerformOptions) => unknown;
}

export interface PerformOptions {
  readonly toolCallId: string;
  /** Aborts when the run is aborted or moves to another process. */
  readonly abortSignal: AbortSignal;
  /** The fencing token of the process that runs the agent. */
  readonly generation: number;
}

export interface ApprovableCall {
  readonly toolCallId: string;
  readonly tool: HostedTool;
  readonly input: unknown;
}

export type HostedApproval = { readonly approved: true } | { readonly approved: false; readonly reason: string };
