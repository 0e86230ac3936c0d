import type { z } from "zod";

/** More requests than this are not remembered; the oldest go first. */
const kept = 1_000;

/**
 * The schemas of requests that nodes of this process made. They judge an answer that is given here as the node will; in
 * another process there is what JSON Schema can say.
 */
export class RequestSchemas {
  readonly #schemas = new Map<string, z.ZodType>();

  add(agentId: string, requestId: string, schema: z.ZodType): void {
    const key = keyOf(agentId, requestId);
    this.#schemas.delete(key);
    this.#schemas.set(key, schema);
    const [oldest] = this.#schemas.keys();
    if (this.#schemas.size > kept && oldest !== undefined) this.#schemas.delete(oldest);
  }

  /** `undefined`: asked by another process, or too long ago. */
  of(agentId: string, requestId: string): z.ZodType | undefined {
    return this.#schemas.get(keyOf(agentId, requestId));
  }
}

function keyOf(agentId: string, requestId: string): string {
  return JSON.stringify([agentId, requestId]);
}
