import { AsyncLocalStorage } from "node:async_hooks";

interface Scope {
  readonly owner: ScopedValue<unknown>;
  readonly value: unknown;
  readonly around: Scope | undefined;
}

/** One storage for all values, because Node 20 never releases an `AsyncLocalStorage`, which slows down promises. */
const scopes = new AsyncLocalStorage<Scope>();

/** A value that all code inside a call of {@link run} can read, including asynchronous code. */
export class ScopedValue<Value> {
  run<Result>(value: Value, code: () => Result): Result {
    return scopes.run({ owner: this, value, around: scopes.getStore() }, code);
  }

  /** Returns the value of the innermost call of {@link run} around the current code. `undefined` outside of calls. */
  get(): Value | undefined {
    let scope = scopes.getStore();
    while (scope && scope.owner !== this) scope = scope.around;
    return scope?.value as Value | undefined;
  }
}
