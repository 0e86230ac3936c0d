/** Deeper values are refused at save: `JSON.stringify` would overflow the stack on what `JSON.parse` accepts. */
export const maximumDepth = 1_000;
