import { SimulatedCrashError } from "agent-persistence/testing";

/** An error with the errors that caused it. */
export function causesOf(error: unknown): readonly (Error & { readonly code?: string })[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}

export function isCausedBy(error: unknown, kind: new (...args: never[]) => Error): boolean {
  return causesOf(error).some((cause) => cause instanceof kind);
}

export function isCrash(error: unknown): boolean {
  return isCausedBy(error, SimulatedCrashError);
}

/** Returns false for a crash, and throws any other error. */
export function falseIfCrash(error: unknown): false {
  if (isCrash(error)) return false;
  throw error;
}

export function isDoubt(error: unknown): boolean {
  return ["tool_call_in_doubt", "rollback_incomplete"].includes((error as { readonly code?: string }).code ?? "");
}
