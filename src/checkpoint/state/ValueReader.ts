import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { freezeInPlace, frozen, isCopyable } from "../../internal/frozenCopy.ts";
import type { AgentState } from "./AgentState.ts";
import { type ContentPart, isMessage, type Message } from "../messages/Message.ts";
import type { NumberedMessage } from "../messages/MessageHistory.ts";
import { answerKeyOf } from "../records/Visit.ts";
import {
  type AnswerReference,
  decodeValue,
  envelopeKeyOf,
  type StoredResult,
  type StoredValue,
} from "../values/valueCodec.ts";

/** The texts of blobs by reference, read in advance. A damaged blob has an error as its value. */
export type BlobTexts = ReadonlyMap<string, string | AgentPersistenceError>;

/** Decoded values that all states of an agent share, because users do not change them. */
export type DecodedValues = WeakMap<object, unknown>;

/** Reads the stored values of one state, and freezes them. Reading a stored value again returns the same object. */
export class ValueReader {
  readonly #state: AgentState;
  readonly #blobs: BlobTexts;
  readonly #values: DecodedValues;
  readonly #read = new Map<StoredValue, unknown>();
  /** The slots being read, to detect values that contain themselves. */
  readonly #open = new Set<StoredValue>();
  #numbers: Map<number, StoredValue> | undefined;
  /** Whether the value that is being read depends on this state, or its user can change a part of it. */
  #isOwn = false;

  constructor(state: AgentState, blobs: BlobTexts, values: DecodedValues = new WeakMap()) {
    this.#state = state;
    this.#blobs = blobs;
    this.#values = values;
  }

  read(slot: StoredValue): unknown {
    if (typeof slot !== "object" || slot === null) return slot;
    // Plain JSON is stored without a wrapper.
    if (envelopeKeyOf(slot) === undefined) return freezeInPlace(slot);
    const shared = this.#values.get(slot);
    if (shared !== undefined) return shared;
    const outer = this.#isOwn;
    this.#isOwn = this.#read.has(slot);
    const value = this.#read.get(slot) ?? this.#readOnce(slot);
    // Messages can be shared, because nodes must not change them. So a large message is decoded only once.
    this.#isOwn ||= !frozen.has(value as object) && !isMessage(value);
    (this.#isOwn ? this.#read : this.#values).set(slot, value);
    this.#isOwn ||= outer;
    return value;
  }

  #readOnce(slot: object): unknown {
    if (this.#open.has(slot)) throw new UnreadableValueError("it refers to itself");
    this.#open.add(slot);
    try {
      return freezeInPlace(this.#decode(slot));
    } catch (error) {
      if (AgentPersistenceError.isInstance(error)) throw error;
      // Omits the cause, because it quotes the invalid text.
      throw new UnreadableValueError("its stored form is unknown");
    } finally {
      this.#open.delete(slot);
    }
  }

  message(slot: StoredValue): Message {
    return this.read(slot) as Message;
  }

  history(): readonly NumberedMessage[] {
    return this.#state.history.map(({ number, message }) => ({ number, message: this.message(message) }));
  }

  storage(): ReadonlyMap<string, unknown> {
    const values = new Map<string, unknown>();
    for (const [key, slot] of this.#state.storage) {
      const value = this.read(slot);
      values.set(key, value);
      // Users get copies of this value, so the states of an agent can share the original.
      if (this.#read.has(slot) && isCopyable(value)) this.#values.set(slot as object, value);
    }
    return values;
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
        return {
          role: "tool",
          content: (content as readonly StoredResult[]).map((result) => this.#toolResult(result)),
        };
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
    this.#isOwn = true;
    this.#numbers ??= new Map(this.#state.history.map((entry) => [entry.number, entry.message]));
    if (!this.#numbers.has(number))
      throw new UnreadableValueError(`it refers to message ${number}, which the history does not have`);
    return this.#numbers.get(number);
  }

  #answer(reference: AnswerReference): StoredValue {
    this.#isOwn = true;
    const key = answerKeyOf(reference);
    const answer = this.#state.answers.get(key);
    if (!answer) throw new UnreadableValueError(`it refers to model response ${key}, which its lane does not have`);
    return answer.message;
  }

  #toolResult({ part, ...inline }: StoredResult): ContentPart {
    const fields = decodeValue(part) as Readonly<Record<string, unknown>>;
    const slot = "output" in inline ? inline.output : this.#outputOf(String(fields["toolCallId"]));
    return { ...fields, output: this.read(slot) } as unknown as ContentPart;
  }

  #outputOf(call: string): StoredValue {
    this.#isOwn = true;
    const outcome = this.#state.calls.get(call)?.outcome;
    if (!outcome)
      throw new UnreadableValueError(`it refers to the outcome of tool call ${call}, which its lane does not have`);
    return outcome.output;
  }
}
