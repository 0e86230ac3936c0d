import type { RunTrace } from "../trace/RunTrace.ts";

/** Adds the trace to a result. It is made when it is first read, because most tests need no trace. */
export function withTrace<Result extends object>(
  result: Result,
  make: () => RunTrace,
): Result & { readonly trace: RunTrace } {
  let made: RunTrace | undefined;
  return Object.defineProperty(result, "trace", {
    enumerable: true,
    get: () => (made ??= make()),
  }) as Result & { readonly trace: RunTrace };
}
