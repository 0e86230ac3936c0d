import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";

const mostDigits = 10_000;
const tooLarge = 10n ** BigInt(mostDigits);

/** Why a bigint is not stored; `undefined` if it is. To read one of a million digits takes seconds. */
export function unsupportedBigint(value: bigint): string | undefined {
  return value > -tooLarge && value < tooLarge ? undefined : `is a bigint with more than ${mostDigits} digits`;
}

/** @throws UnreadableValueError if the text is not of a bigint that would be stored. */
export function bigintOf(text: unknown): bigint {
  if (typeof text === "string" && /^-?\d{1,10000}$/.test(text)) return BigInt(text);
  throw new UnreadableValueError(`a bigint is none of at most ${mostDigits} digits`);
}
