import type { ProviderGeneration, ProviderPart, ProviderResponse } from "./AiSdkLanguageModel.ts";

/** The type of a placeholder for a tool call whose input was streamed but that was never made. */
export const leftOut = "left-out";

const ignored: ReadonlySet<string> = new Set(["raw", "ping"]);

/** Returns whether the provider does not execute this call itself. */
export function isOwnCall(part: ProviderPart): boolean {
  return part.type === "tool-call" && part["providerExecuted"] !== true;
}

/** Returns whether a provider reports that the connection ended before the response was complete. */
export function isInterrupted(finishReason: unknown): boolean {
  return (Object(finishReason) as { readonly unified?: unknown }).unified === "interrupted";
}

/** Assembles the parts of a stream into a response. A text or call has the index of its first part. */
export class StreamedGeneration {
  readonly #content: ProviderPart[] = [];
  /** The indexes in the order of the AI SDK, in which a call has the place of its last part. */
  readonly #order: number[] = [];
  /** The index of each text, reasoning or call in the response, by the type and id of its parts. */
  readonly #places = new Map<string, number>();
  /** Whether the model reported an error. */
  hasFailed = false;
  #warnings: readonly unknown[] = [];
  #response: ProviderResponse;
  #end: Pick<ProviderGeneration, "finishReason" | "usage" | "providerMetadata"> | undefined;

  constructor(modelId: string) {
    this.#response = { id: crypto.randomUUID(), timestamp: new Date(), modelId };
  }

  /** Whether the response is complete. */
  get hasEnded(): boolean {
    return this.#end !== undefined && !isInterrupted(this.#end.finishReason);
  }

  /** The response so far. Its metadata has generated values for missing fields. */
  get generation(): ProviderGeneration {
    // Keeps the index of a call whose input was streamed but that was never made.
    const content = this.#content.map((part) => (part.type === "tool-input-start" ? { type: leftOut } : part));
    const end = this.#end ?? { finishReason: "interrupted" };
    const isSorted = this.#order.every((index, at) => index >= (this.#order[at - 1] ?? 0));
    const order = isSorted ? undefined : [...this.#order];
    return { ...end, content, order, warnings: this.#warnings, response: this.#response };
  }

  /** Adds a part of the stream. Returns the index of its text, reasoning or call, if it belongs to one. */
  add(part: ProviderPart): number | undefined {
    const [, kind = "", piece] = /^(text|reasoning|tool-input)-(start|delta|end)$/.exec(part.type) ?? [];
    if (kind === "tool-input") return piece === "start" ? this.#startCall(part) : this.#placeOf(kind, part["id"]);
    if (kind !== "") return this.#grow(kind, part, piece === "start");
    if (isOwnCall(part)) return this.#call(part);
    this.#note(part);
    return undefined;
  }

  #note(part: ProviderPart): void {
    if (part.type === "stream-start") this.#warnings = (part["warnings"] as readonly unknown[] | undefined) ?? [];
    else if (part.type === "response-metadata") this.#identify(part as ProviderResponse);
    else if (part.type === "finish") this.#end = part as unknown as ProviderGeneration;
    else if (part.type === "error") this.hasFailed = true;
    else if (!ignored.has(part.type)) this.#order.push(this.#content.push(part) - 1);
  }

  #identify({ id, timestamp, modelId }: ProviderResponse): void {
    const { id: ownId, timestamp: ownTime, modelId: ownModel } = this.#response;
    this.#response = { id: id ?? ownId, timestamp: timestamp ?? ownTime, modelId: modelId ?? ownModel };
  }

  /** Adds a piece of text. Some providers use the id of a finished text again for a new text. */
  #grow(kind: string, { id, type: _type, delta = "", ...fields }: ProviderPart, isNew: boolean): number {
    const known = isNew ? undefined : this.#placeOf(kind, id);
    const place = known ?? this.#begin(kind, id, { type: kind, text: "" });
    if (known === undefined) this.#order.push(place);
    const before = this.#content[place];
    // The metadata of the last piece replaces earlier metadata, because signatures arrive at the end.
    const set = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    this.#content[place] = { type: kind, ...before, ...set, text: String(before?.["text"]) + String(delta) };
    return place;
  }

  #startCall(part: ProviderPart): number | undefined {
    if (part["providerExecuted"] === true) return undefined;
    return this.#placeOf("tool-input", part["id"]) ?? this.#begin("tool-input", part["id"], part);
  }

  #call(part: ProviderPart): number {
    const id = part["toolCallId"];
    const place = this.#placeOf("tool-input", id) ?? this.#begin("tool-input", id, part);
    this.#content[place] = part;
    this.#order.push(place);
    this.#places.delete(`tool-input ${String(id)}`);
    return place;
  }

  #placeOf(kind: string, id: unknown): number | undefined {
    return this.#places.get(`${kind} ${String(id)}`);
  }

  #begin(kind: string, id: unknown, part: ProviderPart): number {
    this.#places.set(`${kind} ${String(id)}`, this.#content.length);
    return this.#content.push(part) - 1;
  }
}
