import { AsyncLocalStorage } from "node:async_hooks";

interface Scope {
  readonly owner: ScopedValue<unknown>;
  readonly value: unknown;
  readonly around: Scope | undefined;
}

/**
 * One for all values: Node 20 keeps each `AsyncLocalStorage` that was ever used, and carries it from promise to promise. With
 * one for each run, a run would cost more, the more runs were before it.
 */
const scopes = new AsyncLocalStorage<Scope>();

/** A value that the code sees which runs within a call of {@link run}, however deep, and also after an `await`. */
export class ScopedValue<Value> {
  /** Calls code that sees the value. */
  run<Result>(value: Value, code: () => Result): Result {
    return scopes.run({ owner: this, value, around: scopes.getStore() }, code);
  }

  /** The value of the innermost call around this code; `undefined`: there is none. */
  get(): Value | undefined {
    let scope = scopes.getStore();
    while (scope && scope.owner !== this) scope = scope.around;
    return scope?.value as Value | undefined;
  }
}
