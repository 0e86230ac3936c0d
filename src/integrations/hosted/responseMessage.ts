import type { PromptAnswer } from "../../agent/model/PromptExecutor.ts";
import type { AssistantMessage, ContentPart } from "../../checkpoint/messages/Message.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { GivenHostedResponse, HostedResponse } from "./HostedLoop.ts";

/** A response in the form of its record. `hosted` contains fields that only the other runtime understands. */
type AnswerMessage = AssistantMessage & { readonly hosted?: unknown };

export function storedResponse({ message, opaque, usage, finishReason }: HostedResponse): PromptAnswer {
  const stored: AnswerMessage = { ...message, ...(opaque !== undefined && { hosted: opaque }) };
  return { message: stored, usage, finishReason };
}

export function hostedResponse({
  message,
  usage,
  finishReason,
  replayed,
}: PromptAnswer & { readonly replayed: boolean }): GivenHostedResponse {
  const { hosted: opaque, ...rest } = message as AnswerMessage;
  return { message: rest, replayed, ...withoutUndefined({ opaque, usage, finishReason }) };
}

export type ToolCallPart = Extract<ContentPart, { type: "tool-call" }>;

export function toolCallsIn(
  message: AssistantMessage,
): readonly { readonly part: ToolCallPart; readonly index: number }[] {
  if (typeof message.content === "string") return [];
  return message.content.flatMap((part, index) => (part.type === "tool-call" ? [{ part, index }] : []));
}

export interface ResponseCall {
  readonly message: AssistantMessage;
  readonly index: number;
  readonly part: ToolCallPart;
}

/** The tool calls in the responses of a loop. A call can start before its response is complete. */
export class ResponseCalls {
  readonly #calls = new Map<string, ResponseCall>();
  /** Responses that are not complete yet. A promise resolves when its response is complete or has failed. */
  readonly #coming = new Set<Promise<unknown>>();
  #failure: { readonly error: unknown } | undefined;

  await(answer: Promise<unknown>): void {
    const failed = (error: unknown) => (this.#failure = { error });
    const settled = answer.catch(failed).finally(() => this.#coming.delete(settled));
    this.#coming.add(settled);
  }

  add(message: AssistantMessage): void {
    this.#failure = undefined;
    for (const { part, index } of toolCallsIn(message)) this.#calls.set(part.toolCallId, { message, index, part });
  }

  /** @throws the error of a failed response, TypeError for an id that no response of the loop contains */
  async of(toolCallId: string): Promise<ResponseCall> {
    let found = this.#calls.get(toolCallId);
    while (!found && this.#coming.size > 0) {
      await Promise.race(this.#coming);
      found = this.#calls.get(toolCallId);
    }
    if (!found && this.#failure) throw this.#failure.error;
    if (!found)
      throw new TypeError(
        `No recorded response of this run requests the call "${toolCallId}". Wrap the model that requests it with durable.model(…).`,
      );
    return found;
  }
}
