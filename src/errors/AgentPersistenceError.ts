import type { ErrorCause } from "./ErrorCause.ts";

const brand = Symbol.for("agent-persistence.error");

/**
 * The base class of every error that this library throws on purpose. Tell errors apart by `code`, which is stable within
 * a major version; the text of `message` is not.
 */
export abstract class AgentPersistenceError extends Error {
  /** Stable and in snake_case; `docs/errors.md` lists all codes. */
  abstract readonly code: string;
  readonly [brand] = true;

  constructor(message: string, options?: ErrorCause) {
    super(message, options);
    this.name = new.target.name;
  }

  /** Like `instanceof`, but also true for an error of another copy of this package. */
  static isInstance(value: unknown): value is AgentPersistenceError {
    return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true;
  }
}
