/** Shorter secrets are redacted at their paths only, because they also occur in unrelated texts. */
const shortestSecret = 6;
/** The number of secrets of an agent that a process knows. */
const mostSecrets = 10_000;
/** The characters of the secrets that a record stores. */
const mostStored = 256 * 1024;
/** The number of agents whose secrets a process knows. */
const mostAgents = 1_000;

/** The texts and numbers at redacted paths of one agent. They are redacted in all other texts, too. */
export class KnownSecrets {
  readonly #texts = new Set<string>();
  readonly #restored = new Set<string>();

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
    if (text.length >= shortestSecret) addNewest(this.#restored, text);
  }

  isIn(text: string): boolean {
    if (text.length < shortestSecret) return false;
    if (this.#restored.has(text)) return true;
    for (const secret of this.#texts) if (text.includes(secret)) return true;
    return false;
  }

  #addText(text: string): void {
    if (text.trim().length < shortestSecret) return;
    for (const form of [text, JSON.stringify(text).slice(1, -1)]) addNewest(this.#texts, form);
  }
}

function addNewest(texts: Set<string>, text: string): void {
  texts.delete(text);
  texts.add(text);
  for (const oldest of texts) {
    if (texts.size <= mostSecrets) break;
    texts.delete(oldest);
  }
}

/** The known secrets of the agents that a process used last. */
export class SecretsOfAgents {
  readonly #agents = new Map<string, KnownSecrets>();

  of(agentId: string): KnownSecrets {
    const known = this.#agents.get(agentId) ?? new KnownSecrets();
    this.#agents.delete(agentId);
    this.#agents.set(agentId, known);
    for (const oldest of this.#agents.keys()) {
      if (this.#agents.size <= mostAgents) break;
      this.#agents.delete(oldest);
    }
    return known;
  }

  forget(agentId: string): void {
    this.#agents.delete(agentId);
  }
}
