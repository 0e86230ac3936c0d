const brand = Symbol.for("agent-persistence.error");

/**
 * The base of every error this library throws on purpose. Tell errors apart by `code`, which is stable within a major
 * version; the text of `message` is not.
 */
export abstract class AgentPersistenceError extends Error {
  /** Stable, snake_case; listed in `docs/errors.md`. */
  abstract readonly code: string;
  readonly [brand] = true;

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }

  /** Like `instanceof`, and also true for an error made by another copy of this package. */
  static isInstance(value: unknown): value is AgentPersistenceError {
    return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true;
  }
}
