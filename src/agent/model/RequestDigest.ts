import type { PromptRequest } from "./PromptExecutor.ts";
import { canonicalText, valueDigest } from "../../checkpoint/values/isSameValue.ts";
import type { ContentPart, Message } from "../../checkpoint/messages/Message.ts";
import type { MessageHistory } from "../../checkpoint/messages/MessageHistory.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

/** The number of characters of a digest. Enough to avoid collisions by chance. */
const digestLength = 11;

export interface AskedDigest {
  readonly digest: string;
  matches(recorded: string): boolean;
}

/** Computes digests of model requests, with which a replay detects a changed request. Hashes each message only once. */
export class RequestDigest {
  readonly #sha256: Sha256;
  /** Ignores the ids of tool calls, because the same call has another id after a move or in a fork. */
  readonly #chain: ReturnType<typeof messageChain>;
  readonly #chainWithIds: ReturnType<typeof messageChain>;

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
    this.#chain = messageChain(sha256, withoutCallIds);
    this.#chainWithIds = messageChain(sha256, (message) => message);
  }

  /** @param history Omit it within a tool, because concurrent tool calls can change the history. */
  of(
    { model, parameters, tools }: Pick<PromptRequest, "model" | "parameters" | "tools">,
    history: MessageHistory | undefined,
  ): AskedDigest {
    const { fresh = [], left, marked } = history?.changedSinceMark ?? {};
    const digestOf = (kept: unknown, messages: string) =>
      valueDigest([model, parameters ?? null, tools.map(({ name }) => name), kept, messages], this.#sha256);
    // The digest contains positions, because after a move other messages can have the same numbers.
    const places = left ? { places: left.map(({ place }) => place) } : null;
    const digest = digestOf(left?.length === marked ? null : places, this.#chain(fresh));
    let known: readonly string[] | undefined;
    const earlier = () =>
      [places, left?.map(({ number }) => number)].map((kept) => digestOf(kept, this.#chainWithIds(fresh)));
    return { digest, matches: (recorded) => recorded === digest || (known ??= earlier()).includes(recorded) };
  }
}

/** Returns a function that computes digests of message lists. Unchanged first messages are not hashed again. */
function messageChain(sha256: Sha256, shown: (message: Message) => unknown): (messages: readonly Message[]) => string {
  let links: { readonly message: Message; readonly digest: string }[] = [];
  return (messages) => {
    let same = 0;
    while (same < messages.length && links[same]?.message === messages[same]) same++;
    links = links.slice(0, same);
    for (const message of messages.slice(same)) {
      const text = (links.at(-1)?.digest ?? "") + (canonicalText(shown(message)) ?? "");
      links.push({ message, digest: sha256.base64url(text).slice(0, digestLength) });
    }
    return links.at(-1)?.digest ?? "";
  };
}

function withoutCallIds(message: Message): unknown {
  if (typeof message.content === "string") return message;
  return { ...message, content: message.content.map((part) => ("toolCallId" in part ? withoutId(part) : part)) };
}

function withoutId({ toolCallId: _id, ...part }: Extract<ContentPart, { readonly toolCallId: string }>): unknown {
  return part;
}
