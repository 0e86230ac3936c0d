import { randomId } from "../../../internal/randomId.ts";
import type { ProviderGeneration, ProviderPart, ProviderResponse } from "./ProviderModel.ts";
import { withCallId, isOwnCall, leftOut } from "./providerResponse.ts";

/** Deltas and ends, which extend an earlier part. */
const additions: ReadonlySet<string> = new Set([
  "text-delta",
  "text-end",
  "reasoning-delta",
  "reasoning-end",
  "tool-input-delta",
  "tool-input-end",
]);
const beginnings: ReadonlySet<string> = new Set(["text-start", "reasoning-start", "tool-input-start"]);
const about: ReadonlySet<string> = new Set(["stream-start", "response-metadata", "finish"]);
const notContent: ReadonlySet<string> = new Set(["raw", "ping", "error"]);

/**
 * Assembles the parts of a stream into a response. The first piece of a part determines the position of the part. The
 * first piece of a call also determines the id of the call.
 */
export class StreamedGeneration {
  readonly #idAt: (index: number) => string;
  readonly #content: ProviderPart[] = [];
  /** The positions of parts by the type and id of their pieces. */
  readonly #places = new Map<string, number>();
  #warnings: readonly unknown[] = [];
  #response: ProviderResponse;
  #end: Pick<ProviderGeneration, "finishReason" | "usage" | "providerMetadata"> | undefined;
  #failed = false;

  /** @param idAt returns the library's id of the call at an index of the content */
  constructor(idAt: (index: number) => string, modelId: string) {
    this.#idAt = idAt;
    this.#response = { id: randomId(), timestamp: new Date(), modelId };
  }

  /** The metadata of the response, with generated values for missing fields. */
  get response(): ProviderResponse {
    return this.#response;
  }

  /** The complete response, or `undefined` if it was cut off or the model reported an error. */
  get whole(): ProviderGeneration | undefined {
    if (!this.#end || this.#failed) return undefined;
    // A call that started but was never made keeps its position.
    const content = this.#content.map((part) => (part.type === "tool-input-start" ? { type: leftOut } : part));
    return { ...this.#end, content, warnings: this.#warnings, response: this.#response };
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Returns the index of the text or reasoning that a piece extends. `undefined` for other parts. */
  textPlace({ type, id }: ProviderPart): number | undefined {
    if (type !== "text-delta" && type !== "reasoning-delta") return undefined;
    return this.#places.get(`${type.slice(0, -"-delta".length)} ${String(id)}`);
  }

  /** Adds a part and returns it. In the returned part of a call, the library's call id replaces the provider's id. */
  add(part: ProviderPart): ProviderPart {
    if (notContent.has(part.type)) {
      this.#failed ||= part.type === "error";
      return part;
    }
    if (additions.has(part.type)) return this.#append(part);
    if (beginnings.has(part.type)) return this.#begin(part);
    if (part.type === "tool-call") return this.#call(part);
    if (about.has(part.type)) return this.#note(part);
    this.#content.push(part);
    return part;
  }

  #note(part: ProviderPart): ProviderPart {
    if (part.type === "response-metadata") return this.#identify(part);
    if (part.type === "finish") this.#end = part as unknown as ProviderGeneration;
    else this.#warnings = (part["warnings"] as readonly unknown[] | undefined) ?? [];
    return part;
  }

  #identify(part: ProviderPart): ProviderPart {
    const { id, timestamp, modelId } = part as unknown as ProviderResponse;
    const { id: ownId, timestamp: ownTime, modelId: ownModel } = this.#response;
    this.#response = { id: id ?? ownId, timestamp: timestamp ?? ownTime, modelId: modelId ?? ownModel };
    return { ...part, ...this.#response };
  }

  #begin(part: ProviderPart): ProviderPart {
    if (part.type === "tool-input-start")
      return part["providerExecuted"] === true ? part : { ...part, id: this.#idAt(this.#callPlace(part["id"], part)) };
    const type = part.type.slice(0, -"-start".length);
    const { id, ...fields } = part;
    this.#places.set(`${type} ${String(id)}`, this.#content.length);
    this.#content.push({ ...fields, type, text: "" });
    return part;
  }

  #append(part: ProviderPart): ProviderPart {
    const kind = part.type.slice(0, part.type.lastIndexOf("-"));
    const place = this.#places.get(`${kind} ${String(part["id"])}`);
    if (place === undefined) return part;
    if (kind === "tool-input") return { ...part, id: this.#idAt(place) };
    const { id: _id, type: _type, delta, ...fields } = part;
    const before = this.#content[place] ?? { type: kind };
    const set = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    const text = String(before["text"]) + (typeof delta === "string" ? delta : "");
    this.#content[place] = { ...before, ...set, text };
    return part;
  }

  #call(part: ProviderPart): ProviderPart {
    if (!isOwnCall(part)) {
      this.#content.push(part);
      return part;
    }
    const place = this.#callPlace(part["toolCallId"], part);
    this.#content[place] = part;
    this.#places.delete(`tool-input ${String(part["toolCallId"])}`);
    return withCallId(part, { own: this.#idAt(place), provided: part["toolCallId"] });
  }

  #callPlace(id: unknown, part: ProviderPart): number {
    const key = `tool-input ${String(id)}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    this.#places.set(key, this.#content.length);
    this.#content.push(part);
    return this.#content.length - 1;
  }
}
