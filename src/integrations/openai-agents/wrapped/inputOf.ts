/** Returns the input of a call as the model wrote it. A text that is not JSON is returned as it is. */
export function inputOf(text: unknown): unknown {
  if (typeof text !== "string") return text ?? null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
