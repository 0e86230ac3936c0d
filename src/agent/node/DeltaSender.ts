import type { AssistantMessage, ContentPart } from "../../checkpoint/messages/Message.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { warn } from "../../internal/warn.ts";
import type { OnDelta, RunDelta } from "../feature/RunRequest.ts";

export type DeltaPlace = Pick<RunDelta, "nodeId" | "branch" | "agentPath" | "requestId">;

export class DeltaSender {
  #onDelta: OnDelta | undefined;
  readonly #begun = new Set<string>();

  constructor(onDelta: OnDelta) {
    this.#onDelta = onDelta;
  }

  /** Starts an attempt of a request. If an earlier attempt has sent parts, sends `restart`, which discards them. */
  begin(place: DeltaPlace): void {
    if (this.#begun.delete(place.requestId)) this.send({ type: "restart", ...place });
  }

  piece(delta: RunDelta): void {
    this.#begun.add(delta.requestId);
    this.send(delta);
  }

  /** Completes a response. If no part was sent, sends the whole response as one part. */
  end(place: DeltaPlace, { content }: AssistantMessage): void {
    if (this.#begun.delete(place.requestId)) return;
    const parts: readonly ContentPart[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    for (const part of parts)
      if (part.type === "text" || part.type === "reasoning")
        this.send({ type: `${part.type}-delta`, text: part.text, ...place });
  }

  /** Calls the listener. A listener that throws is not called again. */
  send(delta: RunDelta): void {
    try {
      this.#onDelta?.(delta);
    } catch (error) {
      this.#onDelta = undefined;
      warn("delta_listener_failed", `onDelta threw, and is not called again in this run: ${reasonOf(error)}`);
    }
  }
}
