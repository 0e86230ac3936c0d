/** The keys that lead to a value; `*` is any key. */
export type RedactedPath = readonly string[];

/** The keys of a dotted path such as `signUp.input.email`; `undefined` for text that is none. */
export function redactedPath(text: string): RedactedPath | undefined {
  const keys = text.split(".");
  const isPath = keys.every((key) => key !== "") && keys.some((key) => key !== "*");
  return isPath ? keys : undefined;
}
