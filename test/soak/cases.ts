const share = process.env["SOAK"];

/** Whether this is a soak. `SOAK` is the share of the cases to run: 1 for all, 0.25 for a quarter. */
export const soak = share !== undefined;
if (soak && !(Number(share) > 0 && Number(share) <= 1))
  throw new RangeError(
    `SOAK is the share of the cases to run, above 0 and up to 1. Received ${JSON.stringify(share)}.`,
  );

/** Whether this soak runs all cases. A part of a soak leaves out what `npm test` has in the same form. */
export const wholeSoak = soak && Number(share) === 1;

/** Returns the number of cases: `few` in `npm test`, and the share of `many` in a soak, at least `few`. */
export function cases(few: number, many: number): number {
  return soak ? Math.max(few, Math.ceil(many * Number(share))) : few;
}

/** Returns a step, so that every nth case runs: `few` in `npm test`, and in a soak `most`, divided by its share. */
export function every(few: number, most: number): number {
  return soak ? Math.min(few, Math.round(most / Number(share))) : few;
}

/** Returns the cases: `few` in `npm test`, and in a soak its share of `all`, evenly spread. */
export function portion<Case>(few: readonly Case[], all: readonly Case[]): readonly Case[] {
  return soak ? all.filter((_case, at) => at % Math.round(1 / Number(share)) === 0) : few;
}
