import type { ModelFailure } from "../../checkpoint/records/callRecords.ts";
import { describeError } from "../../journal/describeError.ts";

/** Longer texts of an error are not kept, in characters: they are no facts about it that a node decides by. */
const longestField = 10_000;

/** What is recorded of an error with which a model request failed. */
export function modelFailure(error: unknown): ModelFailure {
  const { name, message, code } = describeError(error);
  const fields = plainFields(error);
  const own = typeof fields["code"] === "string" ? fields["code"] : undefined;
  const shown = code ?? own;
  return {
    name,
    message,
    ...(shown !== undefined && { code: shown }),
    ...(Object.keys(fields).length > 0 && { fields }),
  };
}

/** A thrown value may have any shape, and getters that throw. */
function plainFields(error: unknown): Record<string, string | number | boolean> {
  try {
    const own = Object.entries(Object(error) as Record<string, unknown>);
    return Object.fromEntries(own.filter((field): field is [string, string | number | boolean] => isPlain(field[1])));
  } catch {
    return {};
  }
}

function isPlain(value: unknown): boolean {
  if (typeof value === "string") return value.length <= longestField;
  return typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
}
