import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { callsOf, type ToolCallPart } from "./AnswerMessage.ts";

/** A call, and the answer that asks for it. */
export interface AskedCall {
  readonly message: AssistantMessage;
  readonly index: number;
  readonly part: ToolCallPart;
}

/** The calls that the answers of a loop ask for, by the library's ids. A call may be made before its answer is whole. */
export class AnsweredCalls {
  readonly #calls = new Map<string, AskedCall>();
  /** Answers on their way: they settle when the answer is whole, or will not come. */
  readonly #coming = new Set<Promise<unknown>>();

  /** Announces an answer that is on its way. */
  await(answer: Promise<unknown>): void {
    const settled = answer.catch(() => undefined).finally(() => this.#coming.delete(settled));
    this.#coming.add(settled);
  }

  add(message: AssistantMessage): void {
    for (const { part, index } of callsOf(message)) this.#calls.set(part.toolCallId, { message, index, part });
  }

  /** @throws TypeError for an id that no answer of the loop has. */
  async of(toolCallId: string): Promise<AskedCall> {
    let found = this.#calls.get(toolCallId);
    while (!found && this.#coming.size > 0) {
      await Promise.race(this.#coming);
      found = this.#calls.get(toolCallId);
    }
    if (!found)
      throw new TypeError(
        `No answer of this run asks for the call "${toolCallId}". Use durable.model(…) for the model that asks for it.`,
      );
    return found;
  }
}
