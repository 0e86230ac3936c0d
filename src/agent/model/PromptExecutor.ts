import type { AssistantMessage, Message } from "../../checkpoint/messages/Message.ts";
import type { AnyTool } from "../tool/Tool.ts";

/** The model, as the runtime sees it. */
export interface PromptExecutor {
  /** Answers a history. Tool-call ids in the answer are the provider's; the runtime issues its own. Should reject when the signal aborts. */
  execute(request: PromptRequest): Promise<PromptAnswer>;
}

/** What a model is asked. */
export interface PromptRequest {
  readonly messages: readonly Message[];
  /** The tools the model may call. */
  readonly tools: readonly AnyTool[];
  readonly model: string;
  /** Absent: the provider's defaults. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly abortSignal: AbortSignal;
}

/** What a model answered. */
export interface PromptAnswer {
  readonly message: AssistantMessage;
  /** Whatever the provider counts; not used by the runtime. */
  readonly usage?: unknown;
}
