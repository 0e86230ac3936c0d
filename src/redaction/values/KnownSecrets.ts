import { countFirst } from "../../internal/countFirst.ts";
import { deleteOldest, setNewest } from "../../internal/deleteOldest.ts";
import { fromUtf8 } from "../../internal/bytes.ts";
import { parsedJson } from "../../internal/parsedJson.ts";

/** The minimum length of a secret that is redacted in all texts. Shorter ones also occur in unrelated texts. */
const shortestSecret = 6;
/** The maximum numbers of characters and of texts that a process remembers for an agent. */
const mostCharacters = 16 * 1024 * 1024;
const mostTexts = 200_000;
/** The maximum number of characters of the secrets that one record stores. */
const mostStored = 256 * 1024;
/** The maximum number of closed agents whose secrets a process remembers. */
const mostAgents = 1_000;
/** With more secrets, a search looks up each position of the text. With fewer, it searches for each secret. */
const mostSearches = 256;

/**
 * The texts and numbers at redacted paths of one agent, which are redacted in all other texts too. If there are too
 * many to remember, every text counts as a secret, so that a large output cannot make a process forget secrets.
 */
export class KnownSecrets {
  readonly blobs = new BlobValues();
  readonly #texts = new Set<string>();
  /** The secrets, grouped by their first characters. */
  readonly #byStart = new Map<string, SortedTexts>();
  readonly #restored = new Set<string>();
  #characters = 0;
  #isFull = false;

  /** The newest texts and numbers, up to the size that one record stores. */
  get newest(): readonly string[] {
    const newest: string[] = [];
    let length = 0;
    for (const text of [...this.#texts].reverse()) if ((length += text.length) <= mostStored) newest.push(text);
    return newest;
  }

  add(value: unknown): void {
    if (typeof value === "string") return this.#addText(value);
    if (typeof value === "number" || typeof value === "bigint") return this.#addText(String(value));
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
    for (const item of value instanceof Map || value instanceof Set ? value : Object.values(value)) this.add(item);
  }

  /** Adds a text that was redacted as a whole. Its later copies are redacted as a whole too. */
  addRestored(text: string): void {
    if (!this.isIn(text) && this.#hasRoomFor(text)) this.#restored.add(text);
  }

  isIn(text: string): boolean {
    if (text.length < shortestSecret) return false;
    if (this.#isFull || this.#restored.has(text)) return true;
    if (this.#texts.size > mostSearches) return this.#isAtAnyPosition(text);
    for (const secret of this.#texts) if (text.includes(secret)) return true;
    return false;
  }

  #isAtAnyPosition(text: string): boolean {
    for (let at = 0; at + shortestSecret <= text.length; at++) {
      const alike = this.#byStart.get(text.slice(at, at + shortestSecret));
      if (alike?.hasStartOf(text.slice(at))) return true;
    }
    return false;
  }

  #addText(text: string): void {
    if (text.trim().length < shortestSecret) return;
    for (const form of new Set([text, JSON.stringify(text).slice(1, -1)])) {
      const isKnown = this.#texts.delete(form);
      if (!isKnown && !this.#hasRoomFor(form)) continue;
      this.#texts.add(form);
      if (!isKnown) this.#index(form);
    }
  }

  #index(text: string): void {
    const start = text.slice(0, shortestSecret);
    const alike = this.#byStart.get(start) ?? new SortedTexts();
    this.#byStart.set(start, alike);
    alike.add(text);
  }

  #hasRoomFor(text: string): boolean {
    this.#characters += text.length;
    this.#isFull ||= this.#characters > mostCharacters || this.#texts.size + this.#restored.size >= mostTexts;
    return !this.#isFull;
  }
}

/** Texts that are sorted before a search. A text that starts with another one is omitted. */
class SortedTexts {
  #texts: string[] = [];
  #isSorted = true;

  add(text: string): void {
    this.#texts.push(text);
    this.#isSorted = false;
  }

  /** Returns whether a text starts with one of these texts. Only the last text that is not greater can match. */
  hasStartOf(text: string): boolean {
    if (!this.#isSorted) this.#sort();
    const last = this.#texts[countFirst(this.#texts, (each) => each <= text) - 1];
    return last !== undefined && text.startsWith(last);
  }

  #sort(): void {
    const texts: string[] = [];
    for (const text of this.#texts.sort()) {
      const last = texts.at(-1);
      if (last === undefined || !text.startsWith(last)) texts.push(text);
    }
    this.#texts = texts;
    this.#isSorted = true;
  }
}

/** The known secrets of all open agents and of the last closed ones. */
export class SecretsOfAgents {
  readonly #agents = new Map<string, KnownSecrets>();
  readonly #open = new Map<string, KnownSecrets>();

  of(agentId: string): KnownSecrets {
    const open = this.#open.get(agentId);
    if (open) return open;
    const known = this.#agents.get(agentId) ?? new KnownSecrets();
    setNewest(this.#agents, agentId, known, mostAgents);
    return known;
  }

  /** Keeps the secrets of an agent until it is closed. */
  open(agentId: string): KnownSecrets {
    const known = this.of(agentId);
    this.#agents.delete(agentId);
    this.#open.set(agentId, known);
    return known;
  }

  close(agentId: string): void {
    const known = this.#open.get(agentId);
    if (!known) return;
    this.#open.delete(agentId);
    known.blobs.clear();
    this.#agents.set(agentId, known);
  }

  forget(agentId: string): void {
    this.#open.delete(agentId);
    this.#agents.delete(agentId);
  }
}

type Learn = (value: unknown) => void;

interface StoredBytes {
  readonly bytes: Uint8Array;
  /** Whether a stored record refers to the value. */
  isUsed: boolean;
}

/** The maximum number of remembered bytes, because a later record can refer to the same value. */
const mostBytes = 1024 * 1024;
/** The maximum number of bytes to which no record refers yet. Forgotten values are read again. */
const mostUnusedBytes = 16 * mostBytes;
const mostPlaces = 10_000;

/** The values in the blobs of one agent. Their paths are in records, and are needed to learn their secrets. */
export class BlobValues {
  readonly #stored = new Map<string, StoredBytes>();
  readonly #expected = new Map<string, Map<string, Learn>>();
  /** The references and paths whose secrets are learned. */
  readonly #learned = new Set<string>();
  #bytes = 0;

  /** Adds a value before its record is stored. */
  add(reference: string, bytes: Uint8Array): void {
    this.read(reference, bytes);
    this.#forget(reference);
    this.#stored.set(reference, { bytes, isUsed: false });
    this.#bytes += bytes.length;
    for (const [oldest, { isUsed }] of this.#stored) {
      if (this.#bytes <= mostBytes) break;
      if (isUsed || this.#bytes > mostUnusedBytes) this.#forget(oldest);
    }
  }

  /** Learns the secrets of a stored value that was read. */
  read(reference: string, bytes: Uint8Array): void {
    const expected = this.#expected.get(reference);
    this.#expected.delete(reference);
    for (const [place, learn] of expected ?? []) this.#learn(bytes, { name: nameOf(reference, place), learn });
  }

  /**
   * Learns the secrets in the value of a record, at once or when its blob is read.
   *
   * @returns whether the secrets are already known
   */
  expect(reference: string, place: string, learn: Learn): boolean {
    const [stored, name] = [this.#stored.get(reference), nameOf(reference, place)];
    if (stored) stored.isUsed = true;
    if (this.#learned.has(name)) return true;
    if (stored) {
      this.#learn(stored.bytes, { name, learn });
      return true;
    }
    const expected = this.#expected.get(reference) ?? new Map<string, Learn>();
    this.#expected.set(reference, expected.set(place, learn));
    deleteOldest(this.#expected, mostPlaces);
    return false;
  }

  /** Forgets the bytes of all values, which are read again if a later record refers to them. */
  clear(): void {
    this.#stored.clear();
    this.#bytes = 0;
  }

  #learn(bytes: Uint8Array, { name, learn }: { readonly name: string; readonly learn: Learn }): void {
    learnFrom(bytes, learn);
    this.#learned.add(name);
    deleteOldest(this.#learned, mostPlaces);
  }

  #forget(reference: string): void {
    this.#bytes -= this.#stored.get(reference)?.bytes.length ?? 0;
    this.#stored.delete(reference);
  }
}

function nameOf(reference: string, place: string): string {
  return `${reference} ${place}`;
}

/** Compressed values and files are not JSON, and are ignored. */
function learnFrom(bytes: Uint8Array, learn: Learn): void {
  const value = parsedJson(fromUtf8(bytes));
  if (value !== undefined) learn(value);
}
