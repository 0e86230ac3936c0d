/** Shorter secrets are redacted at their paths only, because they also occur in unrelated texts. */
const shortestSecret = 6;
/** The number of secrets of an agent that a process knows. */
const mostSecrets = 10_000;
/** The number of agents whose secrets a process knows. */
const mostAgents = 1_000;

/** The texts and numbers at redacted paths of one agent. They are redacted in all other texts, too. */
export class KnownSecrets {
  readonly #texts = new Set<string>();

  /** Adds the texts and numbers within a redacted value. */
  add(value: unknown): void {
    if (typeof value === "string") return this.#addText(value);
    if (typeof value === "number" || typeof value === "bigint") return this.#addText(String(value));
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
    for (const item of value instanceof Map || value instanceof Set ? value : Object.values(value)) this.add(item);
  }

  isIn(text: string): boolean {
    if (text.length < shortestSecret) return false;
    for (const secret of this.#texts) if (text.includes(secret)) return true;
    return false;
  }

  #addText(text: string): void {
    if (text.trim().length < shortestSecret) return;
    for (const form of [text, JSON.stringify(text).slice(1, -1)]) {
      this.#texts.delete(form);
      this.#texts.add(form);
    }
    for (const oldest of this.#texts) {
      if (this.#texts.size <= mostSecrets) break;
      this.#texts.delete(oldest);
    }
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
}
