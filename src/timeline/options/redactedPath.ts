/** The keys that lead to a value. `*` matches any key. */
export type RedactedPath = readonly string[];

/**
 * Parses a dotted path such as `signUp.input.email`, where `\.` is a dot in a key. Returns `undefined` for an invalid
 * path.
 */
export function redactedPath(text: string): RedactedPath | undefined {
  const keys = text.split(/(?<!\\)\./).map((key) => key.replaceAll("\\.", "."));
  const isPath = keys.every((key) => key !== "") && keys.some((key) => key !== "*");
  return isPath ? keys : undefined;
}

export function pathText(path: RedactedPath): string {
  return path.map((key) => key.replaceAll(".", "\\.")).join(".");
}
