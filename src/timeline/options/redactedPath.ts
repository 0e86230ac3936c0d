/** The keys that lead to a value; `*` is any key. */
export type RedactedPath = readonly string[];

/** The keys of a dotted path such as `signUp.input.email`, `\.` for a dot in a key; `undefined` for text that is none. */
export function redactedPath(text: string): RedactedPath | undefined {
  const keys = text.split(/(?<!\\)\./).map((key) => key.replaceAll("\\.", "."));
  const isPath = keys.every((key) => key !== "") && keys.some((key) => key !== "*");
  return isPath ? keys : undefined;
}

/** A path as it is given. */
export function pathText(path: RedactedPath): string {
  return path.map((key) => key.replaceAll(".", "\\.")).join(".");
}
