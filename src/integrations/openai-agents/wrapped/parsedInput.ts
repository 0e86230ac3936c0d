/** Parses the input of a call that a model wrote. Returns text that is not JSON unchanged. */
export function parsedInput(text: unknown): unknown {
  if (typeof text !== "string") return text ?? null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
