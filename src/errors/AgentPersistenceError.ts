const brand = Symbol.for("agent-persistence.error");

/**
 * The base class of the errors that this library throws on purpose. Compare `code` to tell errors apart. Codes are
 * stable within a major version, messages are not.
 *
 * @example
 * ```ts
 * try {
 *   await agent.run(input);
 * } catch (error) {
 *   if (AgentPersistenceError.isInstance(error) && error.code === "agent_busy") return retryLater();
 *   throw error;
 * }
 * ```
 */
export abstract class AgentPersistenceError extends Error {
  /** A stable code in snake_case. `docs/errors.md` lists all codes. */
  abstract readonly code: string;
  readonly [brand] = true;

  constructor(message: string, options?: ErrorCause) {
    super(message, options);
    this.name = new.target.name;
  }

  /** Works like `instanceof`, and also returns `true` for an error from another copy of this package. */
  static isInstance(value: unknown): value is AgentPersistenceError {
    return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true;
  }
}

/** The options of an error. TypeScript's built-in type requires a newer `lib` than this library does. */
export interface ErrorCause {
  /** The error that caused this one. */
  readonly cause?: unknown;
}
