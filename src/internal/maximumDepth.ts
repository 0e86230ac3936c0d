/** The maximum nesting of stored values. `JSON.stringify` overflows the stack on depths that `JSON.parse` accepts. */
export const maximumDepth = 1_000;
