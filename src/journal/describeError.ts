import type { StatusRecord } from "../checkpoint/records/runRecords.ts";
import { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { reasonOf } from "../internal/reasonOf.ts";

/** How much of a message and of a stack is stored, in characters. */
const keptCharacters = 10_000;

/** The stored form of an error. */
export function describeError(error: unknown): StatusRecord["error"] & object {
  const { name, stack } = shownOf(error);
  return {
    name: name ?? "Error",
    message: reasonOf(error).slice(0, keptCharacters),
    ...(AgentPersistenceError.isInstance(error) && { code: error.code }),
    ...(stack !== undefined && { stack: stack.slice(0, keptCharacters) }),
  };
}

/** A thrown value may have any shape: fields of other types are ignored, and so are getters that throw. */
function shownOf(error: unknown): { readonly name?: string; readonly stack?: string } {
  try {
    if (!(error instanceof Error)) return {};
    const { name, stack }: { readonly name: unknown; readonly stack?: unknown } = error;
    return { ...(typeof name === "string" && { name }), ...(typeof stack === "string" && { stack }) };
  } catch {
    return {};
  }
}
