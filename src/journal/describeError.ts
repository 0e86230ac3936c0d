import type { StatusRecord } from "../checkpoint/records/runRecords.ts";
import { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { reasonOf } from "../internal/reasonOf.ts";

/** The maximum stored length of an error message and of a stack, in characters. */
const keptCharacters = 10_000;

export function describeError(error: unknown): StatusRecord["error"] & object {
  const { name, stack } = shownOf(error);
  return {
    name: name ?? "Error",
    message: reasonOf(error).slice(0, keptCharacters),
    ...(AgentPersistenceError.isInstance(error) && { code: error.code }),
    ...(stack !== undefined && { stack: stack.slice(0, keptCharacters) }),
  };
}

/** Ignores fields of other types and getters that throw, because thrown values can have any form. */
export function shownOf(error: unknown): { readonly name?: string; readonly stack?: string } {
  try {
    if (!(error instanceof Error)) return {};
    const { name, stack }: { readonly name: unknown; readonly stack?: unknown } = error;
    return { ...(typeof name === "string" && { name }), ...(typeof stack === "string" && { stack }) };
  } catch {
    return {};
  }
}
