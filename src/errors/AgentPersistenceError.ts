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

/** Like `ErrorOptions` of TypeScript, which requires a newer `lib` than this library. */
export interface ErrorCause {
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/** The maximum number of characters that an error message quotes from one text. */
const longestQuote = 200;

/** Returns a text in double quotes for use in a message. A longer text is truncated and followed by its length. */
export function quoted(text: string): string {
  if (text.length <= longestQuote) return JSON.stringify(text);
  return `${JSON.stringify(`${text.slice(0, longestQuote)}…`)} (${text.length} characters)`;
}

/** The maximum number of texts that {@link quotedList} lists. */
const mostNamed = 20;

/** Returns the texts in double quotes, separated by commas. If there are more than 20, returns 20 and "and n more". */
export function quotedList(texts: readonly string[]): string {
  const named = texts.slice(0, mostNamed).map(quoted).join(", ");
  return texts.length > mostNamed ? `${named} and ${texts.length - mostNamed} more` : named;
}
