import type { ModelFailure } from "../../checkpoint/records/callRecords.ts";
import { describeError } from "../../journal/describeError.ts";

/** The maximum length of a recorded error field, in characters. Code that handles errors does not need longer texts. */
const longestField = 10_000;

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

/** Ignores getters that throw, because thrown values can have any form. */
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
