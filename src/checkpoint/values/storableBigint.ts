import { UnreadableValueError } from "../../errors/storedDataErrors.ts";

const mostDigits = 10_000;
const tooLarge = 10n ** BigInt(mostDigits);

/** Returns why a bigint cannot be stored, or `undefined`. Parsing a million digits takes seconds. */
export function unsupportedBigint(value: bigint): string | undefined {
  return value > -tooLarge && value < tooLarge ? undefined : `is a bigint with more than ${mostDigits} digits`;
}

export function bigintOf(text: unknown): bigint {
  if (typeof text === "string" && /^-?\d{1,10000}$/.test(text)) return BigInt(text);
  throw new UnreadableValueError(`a bigint is none of at most ${mostDigits} digits`);
}
