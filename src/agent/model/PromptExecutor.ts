import type { AssistantMessage, Message } from "../../checkpoint/messages/Message.ts";
import type { ModelUsage } from "../../checkpoint/tokenUsage/ModelUsage.ts";
import type { AnyTool } from "../tool/Tool.ts";

/** Calls a model. Implement it to use a custom model. */
export interface PromptExecutor {
  /**
   * Sends a message history to the model and returns the response. The response contains the tool-call ids of the
   * provider, which the runtime replaces. Reject when the signal aborts.
   */
  execute(request: PromptRequest): Promise<PromptAnswer>;
  /**
   * Like `execute`, but calls `onDelta` with each part of the response when it arrives. Runs with `onDelta` call this
   * method in place of `execute`. Without `stream`, `onDelta` gets the response as one part.
   */
  stream?(request: PromptRequest, onDelta: (delta: ModelDelta) => void): Promise<PromptAnswer>;
}

/** A part of the text or the reasoning of a response. */
export interface ModelDelta {
  readonly type: "text-delta" | "reasoning-delta";
  readonly text: string;
}

export interface PromptRequest {
  readonly messages: readonly Message[];
  readonly tools: readonly AnyTool[];
  readonly model: string;
  /** `undefined` for the provider's defaults. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly abortSignal: AbortSignal;
}

export interface PromptAnswer {
  readonly message: AssistantMessage;
  /** The tokens of this request. `undefined` if unknown. */
  readonly usage?: ModelUsage | undefined;
  /**
   * Why the model stopped, in the terms of the AI SDK: `stop`, `tool-calls`, `length` (the response was cut off),
   * `other`, or a custom value. `undefined` if unknown.
   */
  readonly finishReason?: string | undefined;
}
