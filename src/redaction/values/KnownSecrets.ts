import { deleteOldest } from "../../internal/deleteOldest.ts";
import { BlobValues } from "./BlobValues.ts";

/** Shorter secrets are redacted at their paths only, because they also occur in unrelated texts. */
const shortestSecret = 6;
/** The characters and the texts that a process remembers of an agent. */
const mostCharacters = 16 * 1024 * 1024;
const mostTexts = 200_000;
/** The characters of the secrets that a record stores. */
const mostStored = 256 * 1024;
/** The number of agents whose secrets a process knows. */
const mostAgents = 1_000;
/** A search for more secrets looks at each position of a text instead of searching for each secret. */
const mostSearches = 256;

/**
 * The texts and numbers at redacted paths of one agent. They are also redacted in all other texts. If there are too
 * many to remember, every text counts as a secret, so that no output can make a process forget earlier secrets.
 */
export class KnownSecrets {
  readonly blobs = new BlobValues();
  readonly #texts = new Set<string>();
  /** The lengths of the secrets with the same first characters. */
  readonly #lengths = new Map<string, number[]>();
  readonly #restored = new Set<string>();
  #characters = 0;
  #isFull = false;

  /** The known texts and numbers, the newest first, up to a size that a record can have. */
  get newest(): readonly string[] {
    const newest: string[] = [];
    let length = 0;
    for (const text of [...this.#texts].reverse()) if ((length += text.length) <= mostStored) newest.push(text);
    return newest;
  }

  /** Adds the texts and numbers within a redacted value. */
  add(value: unknown): void {
    if (typeof value === "string") return this.#addText(value);
    if (typeof value === "number" || typeof value === "bigint") return this.#addText(String(value));
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
    for (const item of value instanceof Map || value instanceof Set ? value : Object.values(value)) this.add(item);
  }

  /** Adds a text that was stored redacted as a whole. It stays so wherever it is stored again. */
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
      const lengths = this.#lengths.get(text.slice(at, at + shortestSecret));
      if (lengths?.some((length) => this.#texts.has(text.slice(at, at + length)))) return true;
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
    const lengths = this.#lengths.get(start);
    if (!lengths) this.#lengths.set(start, [text.length]);
    else if (!lengths.includes(text.length)) lengths.push(text.length);
  }

  #hasRoomFor(text: string): boolean {
    this.#characters += text.length;
    this.#isFull ||= this.#characters > mostCharacters || this.#texts.size + this.#restored.size >= mostTexts;
    return !this.#isFull;
  }
}

/** The known secrets of open agents, and of the agents that a process used last. */
export class SecretsOfAgents {
  readonly #agents = new Map<string, KnownSecrets>();
  readonly #open = new Map<string, KnownSecrets>();

  of(agentId: string): KnownSecrets {
    const open = this.#open.get(agentId);
    if (open) return open;
    const known = this.#agents.get(agentId) ?? new KnownSecrets();
    this.#agents.delete(agentId);
    this.#agents.set(agentId, known);
    deleteOldest(this.#agents, mostAgents);
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
    this.#agents.set(agentId, known);
  }

  forget(agentId: string): void {
    this.#open.delete(agentId);
    this.#agents.delete(agentId);
  }
}
