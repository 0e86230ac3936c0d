import type { HostedModel, RequestPlace } from "../../agent/visit/hostedCalls.ts";
import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import type { ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import type { HostedTool } from "./HostedTool.ts";

/**
 * What the loop of another runtime is connected to. The loop runs from its start each time the run is resumed: answers and
 * calls that are recorded are given back in their order, and nothing is called for them.
 */
export interface HostedLoop {
  readonly agentId: string;
  readonly runId: string;
  /** Aborted when the run is cancelled or aborted, and when the agent gets another owner. */
  readonly signal: AbortSignal;
  /** False while all that was asked for was recorded. */
  readonly live: boolean;
  /**
   * What ended the run although the other runtime may have taken it for something else, such as a call in doubt. From then on
   * every request is rejected with it.
   */
  readonly failure: { readonly error: unknown } | undefined;
  /**
   * The recorded answer of this place, or the one that `perform` gives. Within a call it belongs to that call. What `perform`
   * throws takes no place.
   *
   * @param asked the model, for telemetry. Absent: unknown.
   */
  answer(perform: (place: RequestPlace) => Promise<HostedAnswer>, asked?: HostedModel): Promise<GivenHostedAnswer>;
  /**
   * Makes a call that an answer asks for, or gives back what is recorded of it. Waits for the answer if it is still coming.
   *
   * @throws ToolFailedError, ToolOutcomeUnknownError: the model is told. Any other error ends the run.
   */
  call(toolCallId: string, call: HostedCall): Promise<unknown>;
  /**
   * Makes a call that code asks for, such as a small value that a repetition has to get again. Found by its order.
   *
   * @throws what `perform` throws: it ends the run, and takes no place.
   */
  step(call: HostedCall): Promise<unknown>;
  /**
   * Waits until calls are approved. Call it when the loop of the other runtime has ended for want of their approvals. Until
   * all have an answer the run ends as waiting, and the promise never settles.
   */
  approvals(calls: readonly ApprovableCall[]): Promise<readonly HostedApproval[]>;
  /** Everything so far is recorded. */
  durable(): Promise<void>;
}

/** An answer of a model, in a form that the log shows and from which the other runtime's own form can be made again. */
export interface HostedAnswer {
  /** Its parts, in order; they may have further fields. Tool calls have the ids of the provider. */
  readonly message: AssistantMessage;
  /** What else the other runtime needs of it: any value that can be stored. Never headers or bodies. Absent: nothing. */
  readonly opaque?: unknown;
  /** Absent: unknown. */
  readonly usage?: ModelUsage | undefined;
  /** Absent: unknown. */
  readonly finishReason?: string | undefined;
}

/** An answer whose tool calls have the ids of the library. */
export interface GivenHostedAnswer extends HostedAnswer {
  readonly replayed: boolean;
}

/** A call as the other runtime makes it. */
export interface HostedCall {
  readonly tool: HostedTool;
  readonly input: unknown;
  readonly perform: (options: PerformOptions) => unknown;
}

/** What a call gets of the library. */
export interface PerformOptions {
  readonly toolCallId: string;
  /** Aborted when the run is aborted or moves. */
  readonly abortSignal: AbortSignal;
  /** The fencing token of the process that runs the agent. */
  readonly generation: number;
}

/** A call that needs an approval. */
export interface ApprovableCall {
  readonly toolCallId: string;
  readonly tool: HostedTool;
  readonly input: unknown;
}

/** How a person answered. */
export type HostedApproval = { readonly approved: true } | { readonly approved: false; readonly reason: string };
