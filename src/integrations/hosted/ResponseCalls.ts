import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { toolCallsIn, type ToolCallPart } from "./responseMessage.ts";

export interface ResponseCall {
  readonly message: AssistantMessage;
  readonly index: number;
  readonly part: ToolCallPart;
}

/**
 * The tool calls that the responses of a loop request, by the library's ids. A call may start before its response is
 * complete.
 */
export class ResponseCalls {
  readonly #calls = new Map<string, ResponseCall>();
  /** Pending responses. Each promise resolves when the response is complete or has failed. */
  readonly #coming = new Set<Promise<unknown>>();

  await(answer: Promise<unknown>): void {
    const settled = answer.catch(() => undefined).finally(() => this.#coming.delete(settled));
    this.#coming.add(settled);
  }

  add(message: AssistantMessage): void {
    for (const { part, index } of toolCallsIn(message)) this.#calls.set(part.toolCallId, { message, index, part });
  }

  /** @throws TypeError for an id that no response of the loop contains */
  async of(toolCallId: string): Promise<ResponseCall> {
    let found = this.#calls.get(toolCallId);
    while (!found && this.#coming.size > 0) {
      await Promise.race(this.#coming);
      found = this.#calls.get(toolCallId);
    }
    if (!found)
      throw new TypeError(
        `No recorded response of this run requests the call "${toolCallId}". Wrap the model that requests it with durable.model(…).`,
      );
    return found;
  }
}
