import type { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { freezeInPlace } from "../../internal/frozenCopy.ts";
import { answerKey, type AgentState } from "./AgentState.ts";
import type { ContentPart, Message } from "../messages/Message.ts";
import type { Visit } from "../records/Visit.ts";
import {
  type AnswerReference,
  decodeValue,
  envelopeKeyOf,
  type StoredResult,
  type StoredValue,
} from "../values/valueCodec.ts";

/** Blob texts by reference, fetched before they are needed; an error in place of one that is damaged. */
export type BlobTexts = ReadonlyMap<string, string | AgentPersistenceError>;

/** Reads stored values of one state, frozen: follows their references, each to the same object however often it is asked. */
export class ValueReader {
  readonly #state: AgentState;
  readonly #blobs: BlobTexts;
  readonly #read = new Map<StoredValue, unknown>();
  #numbers: Map<number, StoredValue> | undefined;

  constructor(state: AgentState, blobs: BlobTexts) {
    this.#state = state;
    this.#blobs = blobs;
  }

  /** @throws UnreadableValueError */
  read(slot: StoredValue): unknown {
    if (typeof slot !== "object" || slot === null) return slot;
    if (!this.#read.has(slot)) this.#read.set(slot, freezeInPlace(this.#decode(slot)));
    return this.#read.get(slot);
  }

  message(slot: StoredValue): Message {
    return this.read(slot) as Message;
  }

  #decode(slot: object): unknown {
    const key = envelopeKeyOf(slot);
    const content = key === undefined ? undefined : (slot as Record<string, unknown>)[key];
    switch (key) {
      case "$blob":
        return this.#decode(this.#blob(content));
      case "$message":
        return this.read(this.#numbered(content as number));
      case "$answer":
        return this.read(this.#answer(content as AnswerReference));
      case "$outcomes":
        return this.#toolMessage(content as readonly StoredResult[]);
      default:
        return decodeValue(slot);
    }
  }

  #blob(content: unknown): object {
    const reference = Array.isArray(content) ? (content[0] as unknown) : undefined;
    const text = typeof reference === "string" ? this.#blobs.get(reference) : undefined;
    if (typeof text === "object") throw text;
    if (text === undefined)
      throw new UnreadableValueError(`its blob ${String(reference)} is missing`, { blob: String(reference) });
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? parsed : { $plain: parsed };
  }

  #numbered(number: number): StoredValue {
    this.#numbers ??= new Map(this.#state.history.map((entry) => [entry.number, entry.message]));
    if (!this.#numbers.has(number))
      throw new UnreadableValueError(`message ${number}, which it refers to, is not in the history`);
    return this.#numbers.get(number);
  }

  #answer([base, ordinal, request, within]: AnswerReference): StoredValue {
    const visit: Visit = [base, ordinal];
    const answer = this.#state.answers.get(answerKey(visit, request, within));
    if (!answer)
      throw new UnreadableValueError(
        `answer ${answerKey(visit, request, within)}, which it refers to, is not on its line`,
      );
    return answer.message;
  }

  #toolMessage(results: readonly StoredResult[]): Message {
    return { role: "tool", content: results.map((result) => this.#toolResult(result)) };
  }

  #toolResult({ part, ...inline }: StoredResult): ContentPart {
    const fields = decodeValue(part) as Readonly<Record<string, unknown>>;
    const slot = "output" in inline ? inline.output : this.#outputOf(String(fields["toolCallId"]));
    return { ...fields, output: this.read(slot) } as unknown as ContentPart;
  }

  #outputOf(call: string): StoredValue {
    const outcome = this.#state.calls.get(call)?.outcome;
    if (!outcome)
      throw new UnreadableValueError(`the outcome of tool call ${call}, which it refers to, is not on its line`);
    return outcome.output;
  }
}
