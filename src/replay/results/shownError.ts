import { describeError } from "../../journal/describeError.ts";

/** Returns an error as a divergence shows it. */
export function shownError(error: unknown): { readonly name: string; readonly message: string } {
  const { name, message } = describeError(error);
  return { name, message };
}
