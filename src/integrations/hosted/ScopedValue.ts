import { AsyncLocalStorage } from "node:async_hooks";

interface Scope {
  readonly owner: ScopedValue<unknown>;
  readonly value: unknown;
  readonly around: Scope | undefined;
}

/**
 * Shared by all values, because Node 20 never releases an `AsyncLocalStorage`, and each storage slows down every
 * promise.
 */
const scopes = new AsyncLocalStorage<Scope>();

/** A value that is visible to all code inside a call of {@link run}, including asynchronous code. */
export class ScopedValue<Value> {
  run<Result>(value: Value, code: () => Result): Result {
    return scopes.run({ owner: this, value, around: scopes.getStore() }, code);
  }

  /** Returns the value of the innermost surrounding call, or `undefined` outside of calls. */
  get(): Value | undefined {
    let scope = scopes.getStore();
    while (scope && scope.owner !== this) scope = scope.around;
    return scope?.value as Value | undefined;
  }
}
