import type { AssistantMessage, Message } from "../../checkpoint/messages/Message.ts";
import type { ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import type { AnyTool } from "../tool/Tool.ts";

/** Calls a model. Implement it to use a model of your choice. */
export interface PromptExecutor {
  /** Answers a message history. Return the provider's tool-call ids: the runtime issues its own. Reject when the signal aborts. */
  execute(request: PromptRequest): Promise<PromptAnswer>;
  /**
   * Like `execute`, and passes the parts of the answer on as they come. Called instead of `execute` in runs with `onDelta`.
   * Absent: the answer is passed on whole.
   */
  stream?(request: PromptRequest, onDelta: (delta: ModelDelta) => void): Promise<PromptAnswer>;
}

/** A part of an answer: a piece of its text, or of its reasoning. */
export interface ModelDelta {
  readonly type: "text-delta" | "reasoning-delta";
  readonly text: string;
}

/** A request to a model. */
export interface PromptRequest {
  readonly messages: readonly Message[];
  /** The tools the model may call. */
  readonly tools: readonly AnyTool[];
  readonly model: string;
  /** Absent: the provider's defaults. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly abortSignal: AbortSignal;
}

/** The answer of a model. */
export interface PromptAnswer {
  readonly message: AssistantMessage;
  /** The tokens of this request. Absent: unknown. */
  readonly usage?: ModelUsage | undefined;
  /**
   * Why the model stopped, in the words of the AI SDK: `stop`, `tool-calls`, `length` (the answer is cut off), `other`, or a
   * word of your own. Absent: unknown.
   */
  readonly finishReason?: string | undefined;
}
