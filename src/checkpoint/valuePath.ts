/** Deeper values are refused at save: `JSON.stringify` would overflow the stack on what `JSON.parse` accepts. */
export const maximumDepth = 1_000;

/** How a key reads in the path of an error. */
export function keyPath(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
