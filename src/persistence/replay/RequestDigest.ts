import type { ModelRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { canonicalText } from "../../checkpoint/values/isSameValue.ts";
import { valueDigest } from "../../checkpoint/values/valueDigest.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

/** Enough against accidents, and short in the log. */
const digestLength = 11;

/** The digest of a request and, after it, what earlier versions may have recorded in its place. */
export type AskedDigests = readonly [digest: string, ...earlier: string[]];

/**
 * Says what a model was asked, so that a node that runs again is seen to ask something else. Each message of a visit is
 * hashed once, and none from before it: the cost follows what is new.
 */
export class RequestDigest {
  readonly #sha256: Sha256;
  /** For each new message of the visit, the digest of all up to it. */
  #chain: { readonly message: Message; readonly digest: string }[] = [];

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  /** @param history absent: it does not count, as within a tool, where others may change it at the same time. */
  of({ model, parameters, tools }: ModelRequestEvent, history: MessageHistory | undefined): AskedDigests {
    const { fresh = [], left } = history?.changedSinceMark ?? {};
    const chained = this.#chained(fresh);
    const digest = (kept: unknown) =>
      valueDigest([model, parameters ?? null, tools.map(({ name }) => name), kept, chained], this.#sha256);
    if (!left) return [digest(null)];
    // When nodes run again whose messages no checkpoint has, other lines may have taken the numbers of these messages.
    return [digest({ places: left.map(({ place }) => place) }), digest(left.map(({ number }) => number))];
  }

  #chained(messages: readonly Message[]): string {
    let same = 0;
    while (same < messages.length && this.#chain[same]?.message === messages[same]) same++;
    this.#chain = this.#chain.slice(0, same);
    for (const message of messages.slice(same)) {
      const before = this.#chain.at(-1)?.digest ?? "";
      this.#chain.push({ message, digest: this.#digest(before + (canonicalText(message) ?? "")) });
    }
    return this.#chain.at(-1)?.digest ?? "";
  }

  #digest(text: string): string {
    return this.#sha256.base64url(text).slice(0, digestLength);
  }
}
