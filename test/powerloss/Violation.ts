/** What a check is about. */
export type CheckName =
  | "acknowledged"
  | "usable"
  | "idempotent"
  | "reads only"
  | "owned by one"
  | "durable before it has an effect"
  | "not repeated"
  | "the world";

/** A storage broke a promise. */
export class Violation extends Error {
  readonly check: CheckName;

  constructor(check: CheckName, message: string, options?: ErrorOptions) {
    super(`${check}: ${message}`, options);
    this.check = check;
  }

  /** The same, with where it was seen. */
  within(place: string): Violation {
    return new Violation(this.check, `${this.message}\n  ${place}`, { cause: this });
  }
}

/** @throws Violation when an action fails in any way. */
export async function mustSucceed<Result>(check: CheckName, action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    throw error instanceof Violation ? error : new Violation(check, String(error), { cause: error });
  }
}
