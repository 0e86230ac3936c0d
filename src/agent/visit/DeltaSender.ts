import type { AssistantMessage, ContentPart } from "../../checkpoint/messages/Message.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { warn } from "../../internal/warn.ts";
import type { OnDelta, RunDelta } from "../feature/RunDelta.ts";

/** Passes the answers of a run on to its `onDelta`. */
export class DeltaSender {
  #onDelta: OnDelta | undefined;
  /** Requests of which pieces were sent, and whose answer is not complete. */
  readonly #begun = new Set<string>();

  constructor(onDelta: OnDelta) {
    this.#onDelta = onDelta;
  }

  /** A request is made: pieces of an earlier try are void. */
  begin({ nodeId, requestId }: Pick<RunDelta, "nodeId" | "requestId">): void {
    if (this.#begun.delete(requestId)) this.#send({ type: "restart", nodeId, requestId });
  }

  piece(delta: RunDelta): void {
    this.#begun.add(delta.requestId);
    this.#send(delta);
  }

  /** The answer is complete. It is sent whole if no piece of it was. */
  end({ nodeId, requestId }: Pick<RunDelta, "nodeId" | "requestId">, { content }: AssistantMessage): void {
    if (this.#begun.delete(requestId)) return;
    const parts: readonly ContentPart[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    for (const part of parts)
      if (part.type === "text" || part.type === "reasoning")
        this.#send({ type: `${part.type}-delta`, text: part.text, nodeId, requestId });
  }

  #send(delta: RunDelta): void {
    try {
      this.#onDelta?.(delta);
    } catch (error) {
      this.#onDelta = undefined;
      warn("delta_listener_failed", `onDelta threw, and is not called again in this run: ${reasonOf(error)}`);
    }
  }
}
